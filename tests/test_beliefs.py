"""What is believed of expressions: kinds, places, branches, loops, calls, and the reasons for what is not known."""

from __future__ import annotations

from textwrap import dedent

import pytest

from torchdevlint import beliefs
from torchdevlint.beliefs import Beliefs
from torchdevlint.config import Settings
from torchdevlint.model import Belief

HEAD = "import torch\nfrom torch import nn\nimport helpers\n"
CPU = "the CPU (default device)"
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)

    def forward(self, x):
        return self.fc(x)
"""


def believed(text: str) -> Beliefs:
    return beliefs.of_bytes((HEAD + dedent(text)).encode(), "program.py", Settings())


def last(text: str, code: str) -> Belief:
    """What is believed where this code stands for the last time."""
    found = [each for each in believed(text).all if each.text == code]
    assert found, f"nothing is believed of {code}"
    return found[-1]


@pytest.mark.parametrize(
    ("text", "code", "kind", "description", "device"),
    [
        ("x = torch.zeros(3)", "x", "tensor", f"a tensor of 1 dimension on {CPU}", CPU),
        ("x = torch.zeros(3, 4).cuda()", "x", "tensor", "a tensor of 2 dimensions on cuda", "cuda"),
    ],
)  # fmt: skip
def test_kinds_and_places(text: str, code: str, kind: str, description: str, device: str | None) -> None:
    belief = last(text, code)
    assert (belief.kind, belief.description, belief.device) == (kind, description, device)


def test_nothing_is_said_of_why_where_all_is_known() -> None:
    assert last("x = torch.zeros(3)", "x").unknown_because is None


def test_a_name_is_followed_to_the_call_that_nothing_is_known_of() -> None:
    belief = last("batch = helpers.make(3)\ny = batch.foo", "y")
    assert belief.kind == "unknown"
    assert belief.unknown_because is not None
    assert "`helpers.make()` is of a library that is not known (`helpers`)" in belief.unknown_because.message
    assert belief.unknown_because.span.row == 4
