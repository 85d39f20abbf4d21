"""The script of the draws, on checkouts that are written here, with the linter itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests import forked

pytestmark = pytest.mark.xdist_group("draws")
ROOT = Path(__file__).resolve().parent.parent

HELPER = """
import torch

def mask(x):
    return x.unsqueeze(0) + torch.ones(3)
"""
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["Loads."]},
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": [
                "import torch\n",
                'net = torch.nn.Linear(1, 1).to("cuda" if torch.cuda.is_available() else "cpu")\n',
                'net.load_state_dict(torch.load("net.pt"))',
            ],
        },
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


class Place:
    """A folder of checkouts, a cache of draws, a ledger and a page."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.code, self.cache, self.data, self.page = (root / name for name in ("code", "cache", "data", "page.md"))
        self.page.write_text("# Page\n\n<!-- draws:begin -->\n<!-- draws:end -->\n", encoding="utf-8")
        self.data.mkdir()
        (self.code / "alpha").mkdir(parents=True)
        (self.code / "alpha" / "helper.py").write_text(dedent(HELPER), encoding="utf-8")
        (self.code / "alpha" / "loads.ipynb").write_text(json.dumps(NOTEBOOK), encoding="utf-8")

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        places = ["--data", str(self.data), *(["--page", str(self.page)] if command == "table" else [])]
        places += [] if command == "table" else ["--cache", str(self.cache)]
        line = [sys.executable, str(ROOT / "scripts" / "draws.py"), command, *arguments, *places]
        return forked.run(line, timeout=120, cwd=ROOT)

    def lint(self) -> subprocess.CompletedProcess[str]:
        return self.run("lint", "first", "--seed", "a seed", "--repositories", str(self.code))

    def found(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in (self.cache / "first" / "findings.jsonl").read_text().splitlines()]

    def judge(self, verdict: str = "true") -> None:
        rows = [
            {**row, "verdict": verdict, "reason": "read", "fix": "right" if row["fix"] else ""} for row in self.found()
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self.cache / "first" / "findings.jsonl").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def linted(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("linted"))
    done = place.lint()
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def place(tmp_path: Path, linted: Place) -> Place:
    """One of its own, with the draw that was linted before."""
    own = Place(tmp_path)
    shutil.copytree(linted.cache, own.cache)
    return own


def test_a_draw_is_linted_with_what_a_judge_needs(place: Place) -> None:
    found = place.found()
    assert [(row["path"], row["cell"], row["row"], row["code"], row["verdict"]) for row in found] == [
        ("helper.py", 0, 5, "TDL014", ""),
        ("loads.ipynb", 2, 3, "TDL201", ""),
    ]
    sheet = (place.cache / "first" / "sheet.md").read_text()
    assert ">     5 |     return x.unsqueeze(0) + torch.ones(3)" in sheet
    assert '>     3 | net.load_state_dict(torch.load("net.pt"))' in sheet
    assert "map_location" in (place.cache / "first" / "fixes.diff").read_text()


def test_a_draw_cannot_be_made_again_once_it_is_there(place: Place) -> None:
    done = place.lint()
    assert done.returncode == 2
    assert "holds a draw already" in done.stderr


def test_a_draw_whose_files_the_linter_cannot_judge_is_refused_and_names_all_of_them(tmp_path: Path) -> None:
    place = Place(tmp_path)
    too_deep = "import torch\nx = " + "-" * 20000 + "1\n"
    (place.code / "alpha" / "first.py").write_text(too_deep, encoding="utf-8")
    (place.code / "beta").mkdir()
    (place.code / "beta" / "second.py").write_text(too_deep, encoding="utf-8")
    done = place.lint()
    assert done.returncode == 2
    assert "first.py" in done.stderr
    assert "second.py" in done.stderr
    assert not (place.cache / "first").exists()


def test_only_a_judged_draw_is_recorded_and_only_once(place: Place) -> None:
    refused = place.run("record", "first")
    assert refused.returncode == 2
    assert "2 findings are not judged" in refused.stderr
    place.judge()
    assert place.run("record", "first").returncode == 0
    (row,) = [json.loads(line) for line in (place.data / "draws.jsonl").read_text().splitlines()]
    assert (row["seed"], row["of"], row["sources"]) == ("a seed", "repositories", ["alpha"])
    assert (row["findings"], row["true"], row["harmless"], row["false"]) == (2, 2, 0, 0)
    again = place.run("record", "first")
    assert again.returncode == 2
    assert "never rewritten" in again.stderr


def test_a_row_is_shown_with_its_shares_rounded_down(place: Place) -> None:
    place.judge()
    rows = place.found()
    rows[0]["verdict"] = "false"
    (place.cache / "first" / "findings.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    place.run("record", "first")
    assert place.run("table", "--check").returncode == 1
    assert place.run("table").returncode == 0
    assert place.run("table", "--check").returncode == 0
    assert "| 1 repositories | 5 | 2 | 1 | 0 | 1 | 50.0 % | 50.0 % |" in place.page.read_text()


def test_again_tells_what_is_gone_and_fails_for_what_was_true(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.lint()
    place.judge()
    place.run("record", "first")
    same = place.run("again")
    assert same.returncode == 0, same.stdout + same.stderr
    assert "2 true, 0 harmless, 0 false before; 2 true, 0 harmless, 0 false now, 0 new" in same.stdout
    (place.code / "alpha" / "helper.py").write_text("import torch\n", encoding="utf-8")
    gone = place.run("again")
    assert gone.returncode == 1
    assert "- true alpha/helper.py:5: TDL014" in gone.stdout


def test_the_ledger_on_the_page_is_that_of_the_repository() -> None:
    line = [sys.executable, str(ROOT / "scripts" / "draws.py"), "table", "--check"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
