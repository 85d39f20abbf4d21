"""Whatever a file holds: a sample of what ``scripts/robustness.py`` tries, and that it would see a fault."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import a_part
from tests.counted import calls_of
from torchdevlint import engine
from torchdevlint.model import Diagnostic, FileResult, Problem, Severity, Span

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from robustness import extremes, inputs  # noqa: E402
from robustness.judged import SETTINGS, Sample, examine  # noqa: E402
from robustness.watched import Child  # noqa: E402

SNIPPETS = inputs.snippets()
CHANGED, OF_FULL_SIZE = 80, 100
"""So many changes of each kind, and the part of an extreme's first size, that are tried here."""
GROWING = {
    "loads in a function": 60,
    "suppressions": 60,
    "noqa": 60,
    "sums into one name": 160,
    "training loops": 45,
    "tensors in a dict": 60,
    "attributes of one another": 80,
    "walruses": 120,
    "environment": 100,
    "devices": 60,
    "other conditions": 40,
    "layers": 140,
    "while loops": 80,
    "names of arms": 60,
    "concatenated": 60,
}
"""Extremes, and a size from which twice as much should be twice the work."""


def calls(text: str) -> int:
    """How many functions are called to check a file, which unlike the time depends on nothing else."""
    return calls_of(lambda: engine.check_bytes(text.encode(), "sample.py", SETTINGS))


@pytest.mark.parametrize("kind", ["bytes", "trees"])
def test_changed_files_are_checked_without_a_fault(kind: str) -> None:
    faults = {
        sample.name: outcome.faults
        for sample in inputs.changed(SNIPPETS, 7, range(CHANGED), kind)
        if (outcome := examine(sample)).faults
    }
    assert faults == {}


@pytest.mark.parametrize("name", extremes.EXTREMES)
def test_extremes_are_checked_without_a_fault(name: str) -> None:
    size, make = extremes.EXTREMES[name]
    text = extremes.HEAD + make(max(2, size // OF_FULL_SIZE))
    assert examine(Sample(name, text.encode("utf-8", "surrogateescape"))).faults == ()


@pytest.mark.parametrize("name", a_part(GROWING))
def test_twice_as_much_is_twice_the_work(name: str) -> None:
    """What a function or file holds many of is not looked through again for each of them."""
    size, make = GROWING[name], extremes.EXTREMES[name].make
    _, once, twice = (calls(extremes.HEAD + make(each)) for each in (2, size, 2 * size))  # the first one imports
    assert twice < 2.3 * once


def test_changes_depend_on_their_number_alone() -> None:
    for kind in ("bytes", "trees"):
        several = list(inputs.changed(SNIPPETS, 3, range(5), kind))
        (alone,) = inputs.changed(SNIPPETS, 3, [4], kind)
        assert several[4] == alone
        assert len({sample.data for sample in several}) == 5


@pytest.fixture
def result(monkeypatch: pytest.MonkeyPatch) -> list[FileResult]:
    """What the engine gives, put in by the test."""
    results: list[FileResult] = []
    monkeypatch.setattr(engine, "check_bytes", lambda *_: results.pop())
    return results


def diagnostic(row: int, column: int = 1, message: object = "a message") -> Diagnostic:
    span = Span(row, column, row, column)
    return Diagnostic("sample.py", span, "TDL003", "name", message, Severity.ERROR, "", "", "url", row)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (FileResult("sample.py", (diagnostic(2), diagnostic(1))), "the findings are not in order"),
        (FileResult("sample.py", (diagnostic(4),)), "TDL003 points outside of the file"),
        (FileResult("sample.py", (diagnostic(1, 9),)), "TDL003 points outside of the file"),
        (FileResult("sample.py", (), (Problem("sample.py", "internal error in the inference: oh"),)), "internal error"),
        (FileResult("sample.py", (diagnostic(1, message=3),)), "format full raised"),
    ],
)
def test_faults_are_seen(result: list[FileResult], given: FileResult, says: str) -> None:
    result.append(given)
    faults = examine(Sample("one", b"torch\n\n")).faults
    assert any(says in fault for fault in faults), faults


def test_a_finding_that_the_gate_would_have_hidden_is_a_fault(result: list[FileResult]) -> None:
    result += [FileResult("sample.py"), FileResult("sample.py", (diagnostic(1),))]
    assert examine(Sample("one", b"x = 1\n")).faults == ("TDL003 in a file that the gate turns away",)


def test_an_exception_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "check_bytes", lambda *_: {}["key"])
    (fault,) = examine(Sample("one", b"")).faults
    assert fault.startswith("check_bytes raised KeyError: 'key' (")


def test_a_child_that_takes_too_long_is_a_fault_and_says_where_it_was() -> None:
    child = Child(limit=1)
    (fault,) = child.examine(Sample("long", b"import torch\nx = torch.zeros(3)\n" * 50_000)).faults
    assert fault.startswith("the process took more than 1 s: ")
    assert ", line " in fault


def test_no_change_is_lost_by_writing_it_down() -> None:
    """Most changes of trees give a program that can be parsed and differs from what it was made of."""
    changed = list(inputs.changed(SNIPPETS, 5, range(40), "trees"))
    assert sum(sample.data not in {each.data for each in SNIPPETS} for sample in changed) > 30
