"""Values that a parameter alone does not tell: of other classes, after other methods, of other ranks, smaller ones."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="what was flagged is executed with torch")

from tests.conftest import a_part
from tests.runtime.execute.bench import Bench, by_hand
from torchdevlint.runtime.execute.search import Run, search
from torchdevlint.runtime.execute.slots import Slot
from torchdevlint.runtime.execute.values import tensor
from torchdevlint.runtime.verify.verdict import Rung, Verdict

OF_THE_PROJECT = """
    import torch


    class Grid:
        def __init__(self, points: int):
            self.points = points

        def spacing(self):
            return 1.0 / self.points


    class Table:
        def __init__(self):
            self.rows = 3


    class Solver:
        def __init__(self, domain):
            self.domain = domain

        def solve(self, x: torch.Tensor):
            step = torch.full((x.shape[-1],), self.domain.spacing(){where})
            return x * step / self.domain.points
"""
AFTER_ANOTHER = """
    import torch


    class Scaler:
        def __init__(self):
            self.mean = None

        def fit(self, data: torch.Tensor):
            self.mean = data.mean(0)

        def transform(self, x: torch.Tensor):
            return (x - self.mean) * torch.ones(x.shape[-1]{where})
"""
OF_A_RANK = """
    import torch


    def total(x, weight, other=None, more=None):
        if {test}:
            raise ValueError("of another rank")
        return (x * torch.ones(x.shape[-1]{where})).sum()
"""
FAILS_LATER = """
    import torch


    def total(x: torch.Tensor, y: torch.Tensor):
        z = x + torch.ones(8{where})
        {then}
        return z
"""
IN_PYTHON = """
    import time

    import torch


    def total(x: torch.Tensor):
        weights = torch.ones(x.numel())
        for each in x.flatten():
            {does}
        return x.flatten() * weights
"""


def is_confirmed(bench: Bench, text: str, where: str) -> None:
    """Without a device it is confirmed, and with one it is right: the finding, made by hand, is not."""
    found = by_hand(bench.write(text.replace("{where}", "")), "TDL014", _factory(text, ""))
    judgement = bench.judgement(found)
    assert (judgement.verdict, judgement.rung) == (Verdict.CONFIRMED, Rung.SYNTHESISED)
    right = by_hand(bench.write(text.replace("{where}", where)), "TDL014", _factory(text, where))
    climbed = bench.climb(right)
    assert climbed.judgement is None or climbed.judgement.verdict is Verdict.REFUTED


def _factory(text: str, where: str) -> str:
    line = next(line for line in text.splitlines() if "{where}" in line)
    name = next(name for name in ("torch.full(", "torch.ones(") if name in line)
    start = line.index(name)
    return line[start : line.index("{where})") + len("{where})")].replace("{where}", where)


def test_an_instance_of_the_class_that_has_what_is_asked_for(bench: Bench) -> None:
    is_confirmed(bench, OF_THE_PROJECT, ", device=x.device")


def test_a_method_that_fills_what_another_reads_is_called_first(bench: Bench) -> None:
    is_confirmed(bench, AFTER_ANOTHER, ", device=x.device")


@pytest.mark.parametrize(
    "test", a_part(["not x.ndim == 3", "x.dim() != 4", "len(x.shape) < 3 or len(weight.shape) > 1"])
)
def test_a_rank_that_a_test_names(bench: Bench, test: str) -> None:
    is_confirmed(bench, OF_A_RANK.replace("{test}", test), ", device=x.device")


@pytest.mark.parametrize("then", a_part(["raise ImportError(name='of_another')", "y.no_such_method()"]))
def test_what_fails_only_later_is_told_so(bench: Bench, then: str) -> None:
    """Nothing is refuted by a program that does not end."""
    text = FAILS_LATER.replace("{then}", then)
    reason = bench.judgement(bench.finding(text.replace("{where}", ""))).reason
    assert "comes through the flagged expressions where every accelerator is the CPU, and fails later" in reason
    path = bench.write(text.replace("{where}", ", device=x.device"))
    right = by_hand(path, "TDL014", "torch.ones(8, device=x.device)")
    assert "no values were found" in bench.reasons(right)[Rung.SYNTHESISED]


@pytest.mark.slow
def test_a_program_that_takes_too_long_gets_smaller_tensors(bench: Bench) -> None:
    finding = bench.finding(IN_PYTHON.replace("{does}", "time.sleep(1.5)"))
    assert bench.judgement(finding).rung is Rung.SYNTHESISED


def test_all_items_of_a_list_are_changed_together() -> None:
    def run(values: object) -> Run:
        items = values["x"]["of"]  # type: ignore[index]
        wrong = any(each["shape"] != [8, 2] for each in items)
        told = "The size of tensor a (2) must match the size of tensor b (8) at non-singleton dimension 1"
        return Run(RuntimeError(told) if wrong else None, frozenset({1}))

    slot = Slot("x", "x", ({"is": "list", "of": [tensor(8, 8)] * 3},))
    found = search([slot], run, [frozenset({1})])
    assert found.values is not None
    assert found.runs < 6
