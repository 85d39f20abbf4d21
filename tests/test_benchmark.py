"""``benchmarks/run.py``: the whole command on two files, and what it computes from timings. No time is asserted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parent.parent
BENCHMARK = ROOT / "benchmarks" / "run.py"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def linting(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The modules of `benchmarks/linting`."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), str(ROOT / "scripts"), *sys.path])
    from linting import plot, report, scenarios, timing, tools

    return SimpleNamespace(plot=plot, report=report, scenarios=scenarios, timing=timing, tools=tools)


@pytest.fixture
def measured(linting: SimpleNamespace) -> SimpleNamespace:
    """A run on two targets, of which the smaller one was given to all tools."""
    import measured as runs

    def timing(name: str, *walls: float, peak: int = 50) -> object:
        rounds = tuple(runs.Finished(0, "", "", wall, wall / 2, peak * 10**6) for wall in walls)
        return linting.timing.Timing(name, rounds)

    small = linting.tools.Target("timm 1", Path("a"), 8, 1000)
    large = linting.tools.Target("diffusers 1", Path("b"), 80, 100_000)
    own = linting.tools.OURS
    return linting.scenarios.Measured(
        cold=(
            (
                small,
                (
                    timing(own, 1.0, 9.0, 2.0),
                    timing("torchfix", 29.0),
                    timing("flake8", 10.0),
                    timing("flake8 with torchdevlint", 10.9),
                ),
            ),
            (large, (timing(own, 20.0), timing("torchfix", 200.0), timing(f"{own} --jobs 2", 12.0, peak=400))),
        ),
        warm=(
            timing(f"{own}, nothing changed", 0.3),
            timing("ruff, nothing changed", 0.1),
            timing(f"{own}, one file changed", 0.5),
            timing("ruff without its cache", 0.6),
        ),
        hook=(timing(f"{own}, cold", 0.4),),
        start_up=(timing("python -c pass", 0.01), timing(f"{own} --version", 0.05)),
        parts=(
            (linting.tools.Target("1/8", Path("c"), 1, 100), timing("1/8", 1.0)),
            (linting.tools.Target("all", Path("d"), 8, 800), timing("all", 8.0)),
        ),
    )


@pytest.mark.slow
def test_all_of_it_on_two_files(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "a.py").write_text("import torch\n\nx = torch.load('p')", encoding="utf-8")
    (code / "b.py").write_text("from a import x\n", encoding="utf-8")
    before = {path: path.read_bytes() for path in code.rglob("*")}
    page = tmp_path / "page.md"
    page.write_text("<!-- benchmark:begin -->\n<!-- benchmark:end -->\n", encoding="utf-8")
    command = [sys.executable, str(BENCHMARK), str(code), "--peers", "", "--rounds", "1", "--patience", "0"]
    done = subprocess.run([*command, "--write", str(page)], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 files, 4 lines" in done.stdout
    titles = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("### ")]
    starts = "Goals|Cold|Warm|As a commit hook, 2 files|Start-up|More lines|More workers".split("|")
    assert [title.startswith(f"### {start}") for title, start in zip(titles, starts, strict=True)] == [True] * 7
    assert ElementTree.parse(page.with_suffix(".svg")).getroot().tag == f"{SVG}svg"
    assert {path: path.read_bytes() for path in code.rglob("*")} == before


def test_unknown_peers_are_refused() -> None:
    command = [sys.executable, str(BENCHMARK), "--peers", "nosuch"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "unknown peer nosuch" in done.stderr) == (2, True)


def test_a_median_of_the_rounds_and_a_ratio_first(linting: SimpleNamespace, measured: SimpleNamespace) -> None:
    rows = linting.report.cold_rows(*measured.cold[0])
    assert rows[0] == ("torchdevlint", "1.00", "2000.0", "2.00", "1.00-9.00", "1.00", "48", "3")
    assert rows[1][:4] == ("torchfix", "14.50", "29000.0", "29.00")
    assert linting.report.short_rows(measured.start_up)[1] == ("torchdevlint --version", "5.00", "50", "25", "48", "1")
    assert linting.report.core_rows(linting.report.workers(measured))[1][:2] == ("2", "1.67")
    assert [row[1] for row in linting.report.part_rows(measured.parts)] == ["1.00", "1.00"]


def test_goals_are_met_by_the_numbers(linting: SimpleNamespace, measured: SimpleNamespace) -> None:
    goals = [
        (goal.where.partition(":")[0], goal.text.partition(":")[0], goal.met) for goal in linting.report.goals(measured)
    ]
    assert goals == [
        ("timm 1", "at least 15 times as fast as torchfix", False),
        ("timm 1", "as a plugin", True),
        ("diffusers 1", "at least 10 times as fast as torchfix", True),
        ("diffusers 1", "nothing changed", False),
        ("diffusers 1", "nothing changed", True),
        ("diffusers 1", "one file changed", True),
        ("diffusers 1", "a worker takes at most 300 MB", False),
        ("100 and 800 lines", "8 times the files", True),
        ("diffusers 1", "two workers", False),
    ]


def test_slow_commands_are_run_once(
    linting: SimpleNamespace, measured: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    import measured as runs

    changes: list[str] = []
    monkeypatch.setattr(runs, "run", lambda command, **_: runs.Finished(0, "", "", float(command[0]), 0.0, 0))
    quick = linting.timing.Step("quick", ("1",), before=lambda: changes.append("again"))
    steps = [quick, linting.timing.Step("slow", ("11",))]
    for warm_up, times in ((True, 4), (False, 3)):
        changes.clear()
        timings = linting.timing.alternate("t", steps, linting.timing.Pace(3, 10), warm_up)
        assert [(each.name, len(each.rounds)) for each in timings] == [("quick", 3), ("slow", 1)]
        assert len(changes) == times


def test_large_targets_are_not_given_to_slow_tools(linting: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    target = linting.tools.Target("t", Path("t"), 9, 60_000)
    given: list[list[str]] = []
    monkeypatch.setattr(
        linting.scenarios, "alternate", lambda title, steps, *_, **__: given.append([step.name for step in steps])
    )
    tools = linting.tools.chosen("torchfix, torch-preflight", sys.executable)
    for full in (False, True):
        linting.scenarios.measure_cold(target, tools, linting.timing.Pace(1, 1), full, more_workers=False)
    assert given == [["torchdevlint", "torchfix"], ["torchdevlint", "torchfix", "torch-preflight"]]


def test_the_plot_has_a_bar_a_value_and_says_them(linting: SimpleNamespace) -> None:
    groups = [linting.plot.Group("a <b>", (("one", 1.0), ("two", 100.0))), linting.plot.Group("c", (("one", 10.0),))]
    root = ElementTree.fromstring(linting.plot.bar_chart("Title & more", "us", groups))
    bars = [bar for bar in root.iter(f"{SVG}rect") if bar.get("x")]
    assert [float(bar.get("width", "")) for bar in bars] == [0, 280, 140]
    assert root.findtext(f"{SVG}title") == "Title & more"
    assert root.findtext(f"{SVG}desc") == "In us. a <b>: one 1, two 100; c: one 10."
    assert root.get("aria-labelledby") == "title desc"
