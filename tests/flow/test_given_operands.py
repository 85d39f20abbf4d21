"""What a literal CUDA device is held against (TDL012) has a name where the literal stands, if it has one at all."""

from __future__ import annotations

import pytest

from torchdevlint.flow.facts.tensors import IgnoresGivenDevice

from .snippets import facts_of

MIXED = """
def mixed(one, other):
    return one.detach() + torch.exp(other)
"""
ENCODER = """
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 8)

    def forward(self, words):
        return self.rnn(words)
"""
HELD = """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()

    def forward(self, words):
        return self.encoder(words)

    def predict(self, sentence):
        return self.encoder(sentence.cuda())
"""
KEPT = """
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.scale = torch.ones(2).cuda()

    def forward(self, x):
        return self.fc(x) * self.scale
"""
STATE = """
    def state(self):
        return torch.zeros(1, 2, 8).cuda()

    def start(self, x):
        return self.rnn(x, self.state())
"""


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("def f(x):\n    a = torch.rand(3).cuda()\n    mixed(x, a)", "device", "x.device"),
        ("def f(xs):\n    mixed(xs[0], torch.rand(3).cuda())", "passed", "mixed()"),
        ("def f(count):\n    return torch.rand(count).cuda()\n\ndef g(x):\n    mixed(x, f(3))", "kept", "f()"),
        ("A = torch.rand(3).cuda()\n\ndef f(x):\n    mixed(x, A)", "kept", "A"),
        ("A = torch.rand(3).cuda()\n\ndef f(x):\n    return x.detach() + A", "kept", "A"),
        ("def f():\n    a = torch.rand(3).cuda()\n    def g(x):\n        return x.detach() + a\n", "kept", "a"),
        ("def f(xs):\n    a = torch.rand(3).cuda()\n    return [x.detach() + a for x in xs]", "kept", "a"),
        ("def f(xs):\n    return [x.detach() + torch.rand(3).cuda() for x in xs]", "device", "x.device"),
    ],
)
def test_what_is_named_is_bound_where_the_literal_stands(text: str, kind: str, name: str) -> None:
    assert given(MIXED + text) == [(kind, name)]


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("    def predict(self, x):\n        return self(x.cuda())", "device", "next(self.rnn.parameters()).device"),
        (STATE, "device", "next(self.rnn.parameters()).device"),
        (HELD, "device", "next(self.encoder.parameters()).device"),
        (KEPT, "buffer", "self.scale"),
    ],
)
def test_a_module_is_named_as_the_method_knows_it(text: str, kind: str, name: str) -> None:
    assert given(ENCODER + text) == [(kind, name)]


def given(text: str) -> list[tuple[str, str]]:
    return [(fact.kind, fact.given) for fact in facts_of(text) if isinstance(fact, IgnoresGivenDevice)]
