"""``benchmarks/programs``: how a suite under simulation is compared and judged, and the table of what was measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = [str(ROOT / "benchmarks" / "programs"), str(ROOT / "scripts")]
NAMES = ("run", "table", "stored", "compared", "suites", "chosen", "execute")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """`run.py`, imported with the modules beside it; other benchmarks have modules of the same names."""
    hidden = {name: sys.modules.pop(name) for name in NAMES if name in sys.modules}
    monkeypatch.setattr(sys, "path", [*FOLDERS, *sys.path])
    import run

    yield run
    for name in NAMES:
        sys.modules.pop(name, None)
    sys.modules.update(hidden)


@pytest.fixture
def verdicts(tmp_path: Path) -> Path:
    path = tmp_path / "judged.jsonl"
    rows = [
        {"suite": "lib", "test": "tests.a::", "verdict": "bug", "reason": "a.py:1 leaves it on the CPU"},
        {"suite": "lib", "test": "tests.a::saves", "verdict": "limit", "reason": "it says so"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _ran(script: Any, **results: str) -> Any:
    suite = next(iter(script.SUITES))
    outcomes = {name: script.suites_of.Outcome(result, 1.0, "why") for name, result in results.items()}
    return script.Ran(suite, None, 1.0, outcomes)


def test_what_says_something_of_the_simulation(script: Any) -> None:
    plain = _ran(script, same="passed", broken="failed", gpu="skipped", dies="passed", cpu_only="passed")
    simulated = _ran(script, same="passed", broken="failed", gpu="failed", dies="error", cpu_only="skipped")
    one = script.compared.compare(plain, simulated)
    assert (one.gained, one.lost, one.alarmed, one.both) == (("gpu",), ("cpu_only",), ("dies", "gpu"), ("broken",))
    assert one.run == 4


def test_the_longest_verdict_that_fits_holds(script: Any, verdicts: Path) -> None:
    judged = script.compared.judge(
        "lib", ["tests.a::moves", "tests.a::saves", "tests.b::runs"], script.compared.load(verdicts)
    )
    assert (judged["bug"], judged["limit"], judged[""]) == (["tests.a::moves"], ["tests.a::saves"], ["tests.b::runs"])
    other = script.compared.judge("other", ["tests.a::moves"], script.compared.load(verdicts))
    assert other[""] == ["tests.a::moves"]


def test_a_verdict_has_a_reason(script: Any, verdicts: Path) -> None:
    verdicts.write_text('{"suite": "lib", "test": "a", "verdict": "bug", "reason": " "}\n', encoding="utf-8")
    with pytest.raises(script.CorpusError, match="a reason"):
        script.compared.load(verdicts)


def test_results_are_replaced_one_by_one(script: Any, tmp_path: Path) -> None:
    stored = script.stored
    path = tmp_path / stored.PROGRAMS
    first, second = (stored.StoredProgram(name, "", "", "2.13.0", "works", 0) for name in "ab")
    stored.merge(path, [second, first], "name", [])
    timed = stored.StoredProgram("b", "", "", "2.13.0", "works", 0, stored.Seconds(1.0, 2.0))
    stored.merge(path, [timed], "name", stored.load_programs(tmp_path))
    assert stored.load_programs(tmp_path) == [first, timed]


def test_the_table_of_a_page(
    script: Any, verdicts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = script.stored
    monkeypatch.setattr(script, "RESULTS", tmp_path)
    alarmed = {"tests.a::moves": "RuntimeError", "tests.b::runs": "TypeError"}
    suite = stored.StoredSuite("lib", "1.0", "2.13.0", 1200, 3, 0, alarmed)
    stored.merge(tmp_path / stored.SUITES, [suite], "library", [])
    stored.merge(
        tmp_path / stored.PROGRAMS,
        [stored.StoredProgram("working/mlp", "", "", "2.13.0", "works", 0)],
        "name",
        [],
    )
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- programs:begin -->\n<!-- programs:end -->\nafter\n", encoding="utf-8")
    command = ["table", "--verdicts", str(verdicts)]
    assert script.main([*command, "--check", str(page)]) == 1
    assert script.main([*command, "--write", str(page)]) == 0
    assert script.main([*command, "--check", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "| lib 1.0 | 1,200 | 3 | 1 | 0 | 0 | 0 | 1 |" in text
    assert "| `working/mlp` | torch | works | 0 |" in text
    assert "- lib, `tests.a::` (1 test), bug: a.py:1 leaves it on the CPU" in text
    assert "plain CPU" not in text
    assert "is stale" in capsys.readouterr().err
