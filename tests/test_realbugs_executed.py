"""What is executed of real fixes, and how: a tiny git repository, and a stand-in for the interpreter that has torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.realbugs_place import REALBUGS, Workplace

FAKE_PYTHON = f"""#!{sys.executable}
import json, os, pathlib, sys
arguments = sys.argv[1:]
def lines(word):
    return [row for row, line in enumerate(file.read_text().split("\\n"), start=1) if word in line]
def out():
    return pathlib.Path(next(each.partition("=")[2] for each in arguments if each.startswith("--output-file=")))
with open({{log!r}}, "a") as log:
    log.write(json.dumps(arguments) + "\\n")
file = pathlib.Path("pkg", pathlib.Path.cwd().parent.name + ".py")
if arguments[0] == "setup.py":
    sys.exit(pathlib.Path("built").touch())
if arguments[2] == "hunt":
    failed = {{"pkg": "importing it fails: no 'old'"}} if lines("old") and not os.path.exists("built") else {{}}
    out().write_text(json.dumps({{"failed": failed}}))
    record = pathlib.Path(next(each.partition("=")[2] for each in arguments if each.startswith("--record=")))
    place = lambda row: {{"filename": os.path.abspath(file), "line": row, "function": "f"}}
    bug = lambda row: {{"sort": "bug", "exception": "RuntimeError", "raised": place(row), "origin": None}}
    rows = [{{"failures": [*map(bug, lines("HUNT"))], "why": ""}}, {{"failures": [], "why": "it takes no tensor"}}]
    record.write_text("\\n".join(["head", *map(json.dumps, rows), '{{"cut', ""]))
else:
    at = lambda row: {{"location": {{"row": row}}, "end_location": {{"row": row}}, "function": "f"}}
    site = lambda row: {{"filename": str(file), **at(row)}}
    error = lambda row: {{"exception": "RuntimeError", "uncaught": True, "site": site(row), "operands": []}}
    out().write_text(json.dumps({{"errors": [error(row) for row in lines("SUITE")]}}))
    print("2 errors in 0.1s" if lines("uncollected") else "1 failed, 2 passed in 0.1s")
"""
"""Says of a file what words in it say: HUNT is raised in a hunt, SUITE in a test; `old` is built by `setup.py`."""
SAYS_ALL = "def f(x):\n    return x  # HUNT SUITE\n\n\ndef g(x):\n    return f(x)\n\n\ndef h(x):\n    pass\n"


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


def _execute(place: Workplace, *ids: str) -> list[dict[str, Any]]:
    python, results, work = (place.root / name for name in ("python", "results", "work"))
    python.write_text(FAKE_PYTHON.replace("{log!r}", repr(str(place.root / "log"))), encoding="utf-8")
    python.chmod(0o755)
    results.mkdir(exist_ok=True)
    done = place.run("execute", *ids, "--python", str(python), "--results", str(results), "--work", str(work))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (results / "executed.jsonl").read_text("utf-8").splitlines()]


def _commands(place: Workplace) -> list[list[str]]:
    return [json.loads(line) for line in (place.root / "log").read_text("utf-8").splitlines()]


def test_what_is_shown_before_the_fix_and_gone_after_it_counts(place: Workplace) -> None:
    place.commit("tests/test_f.py", "from pkg.fixed import f\n")
    place.commit("tests/test_h.py", "from pkg.fixed import h\n")
    place.bug("fixed", SAYS_ALL, SAYS_ALL.replace("HUNT ", ""), [2])
    (row,) = _execute(place)
    assert row == {
        "id": "fixed",
        "refused": "",
        "hunt": "shown",
        "suite": "shown, also after the fix",
        "tests": 1,
        "targets": "1 of 2 targets executed",
        "remark": "",
    }


def test_what_is_said_of_other_lines_or_of_other_files_does_not_count(place: Workplace) -> None:
    place.commit("tests/test_f.py", "from pkg.far import h\n")
    place.bug("far", SAYS_ALL, SAYS_ALL.replace("HUNT SUITE", ""), [10])
    place.commit("tests/test_g.py", "from pkg.none import f\n")
    place.bug("none", SAYS_ALL + "# uncollected\n", SAYS_ALL, [2])
    outcomes = {row["id"]: (row["hunt"], row["suite"]) for row in _execute(place)}
    assert outcomes["far"] == ("not shown", "not shown")
    assert outcomes["none"] == ("shown, also after the fix", "its tests cannot run here")


def test_the_hunt_is_of_what_reaches_the_lines_and_the_tests_are_those_that_name_it(place: Workplace) -> None:
    for name in ("f", "g", "h"):
        place.commit(f"tests/test_{name}.py", f"from pkg.fixed import {name}\n" + f"{name}()\n" * len(name))
    place.commit("tests/test_other.py", "from elsewhere import f\n")
    place.bug("fixed", SAYS_ALL, SAYS_ALL, [2])
    _execute(place)
    hunts = [each for each in _commands(place) if "hunt" in each]
    chosen = [each.partition("=")[2] for each in hunts[0] if each.startswith("--select")]
    assert chosen == ["fixed:f", "fixed:f.*", "fixed:g", "fixed:g.*"]
    runs = [each for each in _commands(place) if "run" in each]
    assert [each for each in runs[0] if each.startswith("tests/")] == ["tests/test_f.py"]


def test_what_cannot_be_imported_is_told_and_the_next_one_is_tried(place: Workplace) -> None:
    place.bug("old", "import old\n", "import old\n", [1])
    place.bug("new", SAYS_ALL, SAYS_ALL, [2])
    place.commit("setup.py", "")
    place.bug("built", "import old\n", "import old\n", [1])
    rows = {row["id"]: row for row in _execute(place)}
    assert [rows[name]["refused"] for name in ("old", "new", "built")] == ["no 'old'", "", ""]
    assert rows["new"]["suite"] == "no tests"
    assert not list((place.root / "work").glob("*/pre"))


def test_what_is_done_is_not_done_again_and_a_remark_stays(place: Workplace) -> None:
    place.bug("fixed", SAYS_ALL, SAYS_ALL, [2])
    (row,) = _execute(place)
    commands = _commands(place)
    stored = place.root / "results" / "executed.jsonl"
    stored.write_text(json.dumps({**row, "remark": "as it should be"}) + "\n", encoding="utf-8")
    _execute(place)
    assert _commands(place) == commands
    (row,) = _execute(place, "fixed")
    assert row["remark"] == "as it should be"
    assert len(_commands(place)) == 2 * len(commands)


def test_the_page_counts_what_each_way_shows_and_all_together(place: Workplace) -> None:
    place.bug("old", "import old\n", "import old\n", [1])
    place.bug("hunted", SAYS_ALL, SAYS_ALL.replace("HUNT", ""), [2])
    place.bug("checked", "pass\n", "pass\n", [1])
    score = {"linter": "torchdevlint", "version": "", "found": ["checked"], "quiet": ["checked"]}
    (place.data / "results.jsonl").write_text(json.dumps({**score, "alarms": [], "noise": {}}) + "\n", "utf-8")
    _execute(place)
    page, readme = (place.root / name for name in ("page.md", "README.md"))
    for each in (page, readme):
        each.write_text("<!-- executed:begin -->\n<!-- executed:end -->\n", encoding="utf-8")
    arguments = ["--results", str(place.root / "results"), "--page", str(page), "--readme", str(readme)]
    assert place.run("executed", *arguments, "--check").returncode == 1
    assert place.run("executed", *arguments).returncode == 0
    assert place.run("executed", *arguments, "--check").returncode == 0
    text = page.read_text("utf-8")
    assert "Of 3 fixes in the order of the draw 2 could be imported, from 1 repositories." in text
    assert "**together 2 of 2**, 1 of which `check` does not show" in text
    assert "- `no 'old'`: some/repo `pkg/old.py`" in text
    figure = readme.read_text("utf-8")
    assert "Of 2 device bugs" in figure
    assert "`check`, whose rules were made with sight of many of them, shows 1 and execution" in figure
    assert "simulation) 1: **together 2**" in figure


def test_the_stored_rows_are_of_records_in_the_order_of_the_draw_and_the_page_agrees() -> None:
    rows = [json.loads(line) for line in (REALBUGS / "executed.jsonl").read_text("utf-8").splitlines()]
    bugs = [
        json.loads(line)["id"]
        for of_set in ("first", "second")
        for line in (REALBUGS / of_set / "bugs.jsonl").read_text("utf-8").splitlines()
    ]
    assert {row["id"] for row in rows} <= set(bugs)
    assert len({row["id"] for row in rows}) == len(rows)
    line = [sys.executable, str(REALBUGS / "run.py"), "executed", "--check"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
