"""What a signature does not say: arguments for the constructor of a base, and methods that take no instance."""

from __future__ import annotations

import pytest

from tests.runtime.execute.bench import Bench, by_hand
from torchdevlint.runtime.verify.verdict import Rung, Verdict

FOR_THE_BASE = """\
import torch
from torch import nn


class Base(nn.Module):
    def __init__(self, rows, columns, dim):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(rows * columns, dim))


class Net(Base):
    def __init__({takes}):
        {gives}
        self.rate = rate

    def forward(self, x):
        return self.table + torch.ones(self.table.shape[-1]{where})
"""
HOLDS = """\
import torch
from torch import nn


class Part(nn.Module):
    def __init__(self, num_rows, dim):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(num_rows, dim))


class Net(nn.Module):
    def __init__(self, *args, count=2, **kwargs):
        super().__init__()
        self.parts = nn.ModuleList([Part(*args, **kwargs) for _ in range(count)])

    def to(self, device):
        for part in self.parts:
            part.to(device)
"""
ON_THE_CLASS = """\
import torch


class Machines:
    def {name}({takes}):
        one = torch.ones(2, device="cuda")
        return one + torch.zeros(2)
"""


@pytest.mark.parametrize(
    ("takes", "gives"),
    [
        ("self, *args, rate=0.1, **kwargs", "super().__init__(*args, **kwargs)"),
        ("self, rate=0.1, **kwargs", "super(Net, self).__init__(**kwargs)"),
        ("self, rows, rate=0.1, **others", "super().__init__(rows, **others)"),
        ("self, rate=0.1, **others", "Base.__init__(self, 8, dim=8, **others)"),
    ],
)
def test_arguments_for_the_constructor_of_a_base(bench: Bench, takes: str, gives: str) -> None:
    text = FOR_THE_BASE.format(takes=takes, gives=gives, where="")
    shown = bench.judgement(bench.finding(text))
    assert (shown.verdict, shown.rung) == (Verdict.CONFIRMED, Rung.SYNTHESISED)


def test_what_is_right_with_a_base_is_not_confirmed(bench: Bench) -> None:
    text = FOR_THE_BASE.format(
        takes="self, *args, rate=0.1, **kwargs",
        gives="super().__init__(*args, **kwargs)",
        where=", device=self.table.device",
    )
    found = bench.reasons(by_hand(bench.write(text), "TDL003", "torch.ones(self.table.shape[-1]"))
    assert found[Rung.SYNTHESISED] == "the operands of the finding, one of them on the accelerator, did not meet"


def test_arguments_for_parts(bench: Bench) -> None:
    shown = bench.judgement(by_hand(bench.write(HOLDS), "TDL106", "def to"))
    assert (shown.verdict, shown.rung) == (Verdict.CONFIRMED, Rung.SYNTHESISED)


@pytest.mark.parametrize(("name", "takes"), [("begin", ""), ("begin", "*, size=2")])
def test_a_method_that_takes_no_instance_is_called_on_its_class(bench: Bench, name: str, takes: str) -> None:
    shown = bench.judgement(bench.finding(ON_THE_CLASS.format(name=name, takes=takes)))
    assert (shown.verdict, shown.rung) == (Verdict.CONFIRMED, Rung.SYNTHESISED)
