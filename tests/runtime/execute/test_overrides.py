"""Moves that have no effect: what an override gives, and what stays behind when a Module is constructed and moved."""

from __future__ import annotations

import pytest

from tests.runtime.execute.bench import Bench, by_hand
from torchdevlint.runtime.verify.verdict import Rung, Verdict

GIVES = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.fc = nn.Linear(size, size)

    def to(self, device):
        self.place = device
        {ends}
"""
KEEPS = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        {kept}

    def forward(self, x):
        return self.fc(x) + torch.ones(2, device=self.place)
"""
INSIDE = """\
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        {made}

    def to(self, device):
        {moved}
        return super().to(device)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()
"""


@pytest.mark.parametrize(
    ("ends", "verdict"), [("super().to(device)", Verdict.CONFIRMED), ("return super().to(device)", Verdict.REFUTED)]
)
def test_what_an_override_gives(bench: Bench, ends: str, verdict: Verdict) -> None:
    shown = bench.judgement(by_hand(bench.write(GIVES.format(ends=ends)), "TDL106", "def to"))
    assert (shown.verdict, shown.rung) == (verdict, Rung.SYNTHESISED)


@pytest.mark.parametrize(
    ("kept", "verdict"),
    [
        ("self.place = next(self.parameters()).device", "confirmed"),
        ("self.place = self.fc.weight", None),  # it moves with the layer, and says no place of its own
        ("self.place = 'anywhere'", None),
    ],
)
def test_what_a_module_keeps_of_a_place(bench: Bench, kept: str, verdict: str | None) -> None:
    finding = by_hand(bench.write(KEEPS.format(kept=kept)), "TDL106", kept, "self.place)")
    judgement = bench.climb(finding).judgement
    assert (None if judgement is None else judgement.verdict.value) == verdict


@pytest.mark.parametrize(
    ("made", "moved", "verdict"),
    [
        ("self.factor = torch.ones(2)", "self.factor = self.factor.to(device)", Verdict.CONFIRMED),
        ("self.factor = 'cpu'", "self.factor = device", Verdict.CONFIRMED),
        ("self.register_buffer('factor', torch.ones(2))", "self.factor = self.factor.to(device)", None),
    ],
)
def test_what_stays_in_a_module_that_another_holds(
    bench: Bench, made: str, moved: str, verdict: Verdict | None
) -> None:
    path = bench.write(INSIDE.format(made=made, moved=moved))
    judgement = bench.climb(by_hand(path, "TDL106", "def to", "self.scale = Scale()")).judgement
    assert (None if judgement is None else judgement.verdict) is verdict
