"""A device error that comes before the finding's own: it is let pass, if what comes of it is known."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="what was flagged is executed with torch")

from tests.runtime.execute.bench import Bench, by_hand
from torchdevlint.runtime.verify.verdict import Rung, Verdict

HEAD = """
    import torch
    from torch import nn

"""
READ = HEAD + """
    def read(u: torch.Tensor, v: torch.Tensor, device):
        u, v = u.to(device), v.to(device)
        return u.numpy(), v{first}.numpy()
"""
TRAIN = HEAD + """
    def there_and_back(x):
        return x.detach().cpu() * 2


    def train(x: torch.Tensor, device):
        model = nn.Linear(8, 8).to(device)
        x = there_and_back(x.to(device))
        out = model(x){after}
        return (out * torch.ones(8)).sum()
"""
BUFFER = HEAD + """
    class Buffer(nn.Module):
        def __init__(self):
            super().__init__()
            self.{kept}
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            y = self.scale * x.cpu().mul(2)
            return y @ torch.zeros(8, 8) + self.layer(x)
"""
SCALED = HEAD + """
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.ones(8)

        def forward(self, x):
            y = x * {scale}
            return y + torch.zeros(8)
"""


def test_what_comes_later_in_the_same_statement_is_confirmed(bench: Bench) -> None:
    first, second = (bench.judgement(each) for each in bench.findings(READ.format(first="")))
    assert (first.verdict, second.verdict) == (Verdict.CONFIRMED, Verdict.CONFIRMED)
    assert "let pass" not in first.reason
    assert "come first (line 8) were let pass" in second.reason


def test_what_met_a_parameter_goes_there(bench: Bench) -> None:
    of_model, of_factory = bench.findings(TRAIN.format(after=""))
    assert (of_model.code, of_factory.code) == ("TDL004", "TDL014")
    found = bench.judgement(of_factory)
    assert (found.verdict, found.rung) == (Verdict.CONFIRMED, Rung.SYNTHESISED)
    assert "(line 13) were let pass" in found.reason


@pytest.mark.parametrize("is_buffer", [True, False])
def test_what_met_a_buffer_goes_there(bench: Bench, is_buffer: bool) -> None:
    """The finding is made by hand. Another attribute that is moved by hand may as well be left on the CPU."""
    kept = 'register_buffer("scale", torch.ones(8))' if is_buffer else 'scale = torch.ones(8, device="cuda")'
    found = by_hand(bench.write(BUFFER.format(kept=kept)), "TDL003", "torch.zeros(8, 8)")
    if is_buffer:
        assert bench.judgement(found).verdict is Verdict.CONFIRMED
    else:
        assert "another device error comes first" in bench.reasons(found)[Rung.SYNTHESISED]


def test_what_nobody_has_moved_goes_where_the_others_are(bench: Bench) -> None:
    of_attribute, of_factory = bench.findings(SCALED.format(scale="self.scale"))
    assert "let pass" not in bench.judgement(of_attribute).reason
    assert "come first (line 12) were let pass" in bench.judgement(of_factory).reason


def test_what_may_be_elsewhere_once_the_first_is_right_confirms_nothing(bench: Bench) -> None:
    """The finding is made by hand. What the program has brought to the CPU may be there for good."""
    found = by_hand(bench.write(SCALED.format(scale="x.cpu()")), "TDL003", "torch.zeros(8)")
    assert "another device error comes first, at line 12" in bench.reasons(found)[Rung.SYNTHESISED]


def test_no_error_of_its_own_refutes_nothing(bench: Bench) -> None:
    """The finding is made by hand: the second read is of a copy on the CPU."""
    found = by_hand(bench.write(READ.format(first=".cpu()")), "TDL006", "v.cpu().numpy()", symptom="TypeError")
    assert "another device error comes first" in bench.reasons(found)[Rung.SYNTHESISED]
