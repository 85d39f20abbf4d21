"""Calls that are not followed, and what of them is known all the same."""

from __future__ import annotations

from torchdevlint.config import Settings
from torchdevlint.engine import check_bytes


def found(code: str) -> list[tuple[int, str]]:
    result = check_bytes(code.encode(), "case.py", Settings())
    assert not result.problems
    return [(one.span.row, one.code) for one in result.diagnostics]


BASE = """\
import torch
from torch import nn


class Base(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.layers = []
        self.mask = torch.ones(width)


class Net(Base):
    def __init__(self, width):
        super().__init__(width)
        self.layers.append(nn.Linear(width, width))

    def forward(self, x):
        return torch.relu(x) * self.mask


def build():
    return [Net(2), Net(3), Net(4)]
"""


def test_what_a_base_of_the_file_makes_is_known_in_the_classes_below_it() -> None:
    assert found(BASE) == [(10, "TDL101")]


def test_literals_stand_for_their_kind_where_a_function_is_called_often() -> None:
    """What a flag decides is still seen, and so is a device that is named for the first time in the last call."""
    calls = [f"n{number} = make({number}, {number % 2 == 0}) + torch.relu(x)" for number in range(20)]
    lines = "\n".join(f"        {each}" for each in [*calls, "last = make(20, True, 'cuda:1') + torch.relu(x)"])
    code = f"""\
import torch
from torch import nn


def make(size, other, device=None):
    if other:
        return torch.ones(size, 2, device=device)
    return torch.zeros(size, 3)


class Net(nn.Module):
    def forward(self, x):
{lines}
        return last
"""
    made = check_bytes(code.encode(), "case.py", Settings()).diagnostics[0]
    assert (made.span.row, made.code, made.also) == (7, "TDL003", " (also in line 8)")
    device = found(code.replace("cuda:1", "cuda:01"))
    assert "TDL303" in {code for _, code in device}, "an invalid device is found however often others were given"
