"""What `verify` must not say: verdicts that a line, another operand or another expression would give."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

import pytest

pytest.importorskip("torch", reason="what was flagged is executed with torch")

from tests import forked
from tests.conftest import a_part
from tests.runtime import snippets
from tests.runtime.execute.bench import Bench, by_hand, target_of
from torchdevlint.runtime.execute.search import MOST_RUNS
from torchdevlint.runtime.verify.ladder import Climb
from torchdevlint.runtime.verify.verdict import Rung, Verdict

CONFIRMED, REFUTED = Verdict.CONFIRMED, Verdict.REFUTED


@dataclass(frozen=True)
class Case:
    """A finding made by hand, and its verdict: None if nothing can be said, for a `reason` then."""

    code: str
    marked: str
    text: str
    verdict: Verdict | None
    notes: tuple[str, ...] = ()
    reason: str = ""
    sliced: bool = False
    symptom: str = "RuntimeError"


WEIGHT = """\
import torch


def total(x: torch.Tensor, w{default}):
    weight = {made} if w is None else w
    return x * weight
"""
NOISE = """\
import torch


def total(x: torch.Tensor, noisy=False):
    return x + {noise} if noisy else x
"""
LABELS = """\
import torch


def train(model: torch.nn.Module, loader, device):
    model.to(device)
    criterion = torch.nn.CrossEntropyLoss()
    for x, y in loader:
        {moved}
        criterion(model(x), y).backward()
"""
COUNTED = """\
import torch


def rows({parameter}):
    table = torch.zeros(8, 8)
    total = 0
    {loop}
        total = total + table[i]
    return total
"""
TWICE = "import torch\n\n\ndef total(x: torch.Tensor):\n    return (x + torch.ones(8)) * torch.zeros(8)\n"
DEVICES = """\
import torch


def place({parameters}):
    first = torch.zeros(2, device=other.device)
    return first, model.device
"""
CHOSEN = """\
import torch


def place(x: torch.Tensor):
    device = torch.device("{kind}" if torch.cuda.is_available() else "cpu")
    return x.to(device)
"""
PACKED = """\
from typing import Optional

import torch
from torch.nn.utils.rnn import pack_padded_sequence


def pack(x: torch.Tensor, mask: Optional[torch.Tensor] = None):
    assert x.dim() == 3
    if mask is None:
        mask = torch.ones(x.shape[:2], dtype=torch.bool)
    return pack_padded_sequence(x, mask.sum(1), batch_first=True, enforce_sorted=False)
"""
MOVED = """\
import torch


class Net(torch.nn.Module):
    def encode(self, x, device):
        x = {made}
        x.to(device)
        return x
"""
NO_SUCH = "RuntimeError: Expected one of cpu, cuda, ipu, xpu device type at start of device string: gpu"
CASES = {
    "a default that takes the other arm, always": Case(
        "TDL014", "torch.ones(8)", WEIGHT.format(default="=8", made="torch.ones(8)").replace("is None", "in ()"), None,
        ("x * weight",), "does not come to the flagged expression",
    ),
    "a default that takes the other arm": Case(
        "TDL014", "torch.ones(8)", WEIGHT.format(default="=8", made="torch.ones(8)"), CONFIRMED, ("x * weight",)
    ),
    "a default that takes this arm": Case(
        "TDL014", "torch.ones(8)", WEIGHT.format(default="=None", made="torch.ones(8)"), CONFIRMED, ("x * weight",)
    ),
    "a default that takes this arm, which is right": Case(
        "TDL014", "torch.ones(8).to(x)", WEIGHT.format(default="=None", made="torch.ones(8).to(x)"), REFUTED,
        ("x * weight",),
    ),
    "a switch that is off": Case("TDL014", "torch.randn(8)", NOISE.format(noise="torch.randn(8)"), CONFIRMED),
    "a switch that is off, of what is right": Case(
        "TDL014", "torch.randn(8, device=x.device)", NOISE.format(noise="torch.randn(8, device=x.device)"), REFUTED
    ),
    "labels, behind a model that is given the wrong input": Case(  # whose own error is let pass, and confirms nothing
        "TDL005", "criterion(model(x), y)", LABELS.format(moved="pass"), CONFIRMED
    ),
    "labels": Case("TDL005", "criterion(model(x), y)", LABELS.format(moved="x = x.to(device)"), CONFIRMED),
    "labels that are moved": Case(
        "TDL005", "criterion(model(x), y)", LABELS.format(moved="x, y = x.to(device), y.to(device)"), REFUTED
    ),
    "what a loop counts with": Case(
        "TDL007", "table[i]", COUNTED.format(parameter="n", loop="for i in range(n):"), None, sliced=True,
        reason="part of the program only",
    ),
    "an index that is a tensor": Case(
        "TDL007", "table[i]", COUNTED.format(parameter="i: torch.Tensor", loop="if True:"), CONFIRMED
    ),
    "lengths of a mask that nobody needs to give": Case(
        "TDL013", "pack_padded_sequence(x, mask.sum(1), batch_first=True, enforce_sorted=False)", PACKED, CONFIRMED,
        ("mask: Optional[torch.Tensor] = None",),
    ),
    "lengths of the CPU": Case(
        "TDL013", "pack_padded_sequence(x, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)",
        PACKED.replace("sum(1)", "sum(1).cpu()"), REFUTED, ("mask: Optional[torch.Tensor] = None",),
    ),
    "a move of what an unknown function gave": Case(
        "TDL001", "x.to(device)", MOVED.format(made="self.encoder(x)"), None, sliced=True,
        reason="which the slice does not run",
    ),
    "a move of what is made here": Case(
        "TDL001", "x.to(device)", MOVED.format(made="torch.zeros(8)"), CONFIRMED, sliced=True
    ),
    "the second of two in a line": Case("TDL014", "torch.zeros(8)", TWICE, CONFIRMED),
    "the second of two in a line, behind what was brought to the CPU": Case(
        "TDL014", "torch.zeros(8)", TWICE.replace("torch.ones(8)", "x.cpu()"), None, (),
        "another device error comes first",
    ),
    "the first of two in a line": Case("TDL014", "torch.ones(8)", TWICE, CONFIRMED),
    "what meets nothing": Case(
        "TDL014", "torch.ones(8)",
        "import torch\n\n\ndef total(x: torch.Tensor):\n    y = torch.ones(8)\n    return x, y.sum()\n", None, (),
        "did not meet",
    ),
    "what meets nothing of the accelerator": Case(
        "TDL014", "torch.ones(8)",
        "import torch\n\n\ndef total(x: torch.Tensor):\n    y = x.cpu() + torch.ones(8)\n    return x, y\n", None, (),
        "did not meet",
    ),
    "a number where a tensor could be": Case(
        "TDL014", "x + w", "import torch\n\n\ndef total(x: torch.Tensor, w=8):\n    return x + w\n", None, (),
        "did not meet",
    ),
    "the same exception, of another expression": Case(
        "TDL107", "model.device", DEVICES.format(parameters="model: torch.nn.Module, other: torch.nn.Module"), None,
    ),
    "the exception of the flagged expression": Case(
        "TDL107", "model.device", DEVICES.format(parameters="model: torch.nn.Module, other: torch.Tensor"), CONFIRMED
    ),
    "no device, where there is an accelerator": Case(
        "TDL303", '"gpu" if torch.cuda.is_available() else "cpu"', CHOSEN.format(kind="gpu"), CONFIRMED,
        symptom=NO_SUCH,
    ),
    "a device, where there is an accelerator": Case(
        "TDL303", '"cuda" if torch.cuda.is_available() else "cpu"', CHOSEN.format(kind="cuda"), None,
        symptom=NO_SUCH,
    ),
}  # fmt: skip


MIXED = (
    snippets.MISSING
    + """\
import torch


class Net(nosuchlibrary.Base, torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return self.mix(x, torch.ones(len(x), 1))

    def mix(self, x, y):
        return nosuchlibrary.mix(x) + y * x
"""
)


def climbed(bench: Bench, case: Case) -> Climb:
    text = snippets.MISSING + case.text if case.sliced else case.text
    return bench.climb(by_hand(bench.write(text), case.code, case.marked, *case.notes, symptom=case.symptom))


@pytest.mark.parametrize("name", a_part(CASES, of=6))
def test_a_verdict_is_about_the_flagged_expression_and_its_operands(bench: Bench, name: str) -> None:
    case = CASES[name]
    found = climbed(bench, case)
    got = None if found.judgement is None else found.judgement.verdict
    assert got is case.verdict, found
    if case.verdict is None:
        assert case.reason in "; ".join(why for _, why in found.reasons)


def test_the_values_that_show_it_are_the_defaults_where_these_will_do(bench: Bench) -> None:
    none = climbed(bench, CASES["a default that takes this arm"]).judgement
    assert none is not None
    assert "w" not in (none.evidence.inputs or {})
    on = climbed(bench, CASES["a switch that is off"]).judgement
    assert on is not None
    assert on.evidence.inputs == {"x": "float32 tensor 8x8 on cuda:0", "noisy": "True"}


def test_all_the_programs_of_a_rung_share_the_tries(bench: Bench) -> None:
    text = """\
        import torch


        class Net(torch.nn.Module):
            def forward(self, a, b, c, d):
                return self.mix(a, b, c, d)

            def mix(self, a, b, c, d):
                assert a.marked_by_us == b.marked_by_us == "and by nobody else"
                return c + d + torch.ones(8)
        """
    path = bench.write(text)
    found = bench.ask("find", target_of(path, "torch.ones(8)"))
    assert found["program"] is None
    assert MOST_RUNS - 2 <= found["runs"] <= MOST_RUNS
    again = bench.ask("find", target_of(path, "torch.ones(8)"), spent=MOST_RUNS - 10)
    assert MOST_RUNS - 2 <= again["runs"] <= MOST_RUNS


def test_a_loop_variable_is_not_shown_as_a_tensor(bench: Bench) -> None:
    case = CASES["what a loop counts with"]
    path = bench.write(snippets.MISSING + case.text)
    found = bench.ask("find", target_of(path, case.marked, code=case.code), rung="slice")
    assert found["values"]["i"] == {"is": "value", "value": 0}


@pytest.mark.parametrize("name", ["a load", "a load and a factory"])
def test_loads_are_counted_apart(bench: Bench, name: str) -> None:
    bench.write(snippets.LOAD, "load.py")
    if name != "a load":
        bench.write(snippets.FACTORY, "model.py")
    command = ["python", "-m", "torchdevlint", "verify", "--isolated"]
    done = forked.python(*command[1:], cwd=bench.folder)
    assert isinstance(done, subprocess.CompletedProcess)
    assert done.returncode == 1
    told = done.stdout.strip().splitlines()
    assert told[-1].startswith("1 load (TDL201), counted apart: 1 confirmed; ")
    assert (told[-2] == "1 finding: 1 confirmed.") is (name != "a load")


@pytest.mark.slow
def test_reasons_are_told_in_groups_at_the_end(bench: Bench) -> None:
    bench.write(MIXED, "one.py")
    bench.write(MIXED, "other.py")
    done = forked.python("-m", "torchdevlint", "verify", "--isolated", cwd=bench.folder)
    assert done.returncode == 0, done.stdout
    head, _, end = done.stdout.partition("Inconclusive, and what would help:\n")
    assert end == "  2  the module needs `nosuchlibrary`, which is not installed here: pip install nosuchlibrary\n"
    told = [line for line in head.splitlines() if line.startswith("  so:")]
    assert len(told) == 2
    assert all("importing" in line and len(line) < 125 for line in told)
    assert Rung.SLICE.value not in head
