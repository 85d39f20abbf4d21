"""The simulation under other releases of PyTorch: how it is told, and, with the network, the newest release itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts import releases
from tests.conftest import ROOT

GOOD: dict[str, Any] = {
    "torch": "2.9.1+cu128",
    "truth": {"stated": 8, "met": 7, "excused": 1, "failed": []},
    "tests": {"passed": 5, "skipped": 1, "failed": []},
    "programs": {"passed": 3, "skipped": 0, "failed": []},
}
BAD = {**GOOD, "torch": "2.10.0+cpu", "tests": {"passed": 4, "skipped": 0, "failed": ["tests/test_a.py::test_b"]}}


def test_a_row_tells_what_passed_and_the_lines_below_it_what_failed_and_what_was_not_run() -> None:
    header, _, good, bad, *rest = releases.render([GOOD, BAD], ("2.9.1", "2.10.0", "2.11.0")).splitlines()
    assert header.count("|") == good.count("|")
    assert good == "| 2.9.1+cu128 | 8 | 7 | 1 | 5 | 1 | 0 | 3 | 0 |"
    assert bad == "| 2.10.0+cpu | 8 | 7 | 1 | 4 | 0 | 1 | 3 | 0 |"
    assert [line for line in rest if line] == [
        "What failed:", "- 2.10.0: `tests/test_a.py::test_b`", "Not run: 2.11.0.",
    ]  # fmt: skip


def test_a_release_that_is_run_again_takes_the_place_of_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "STORED", tmp_path / "rows.jsonl")
    for row in (BAD, GOOD, {**BAD, "torch": "2.10.0+cu128"}):
        releases.store(row)
    assert [row["torch"] for row in releases.load()] == ["2.9.1+cu128", "2.10.0+cu128"]


def test_what_is_stored_are_releases_of_the_list_with_all_that_they_were_asked() -> None:
    rows = releases.load()
    assert {releases.release_of(row) for row in rows} <= set(releases.RELEASES)
    for row in rows:
        assert row["truth"]["stated"] - row["truth"]["excused"] - len(row["truth"]["failed"]) == row["truth"]["met"]
        assert row["tests"]["passed"] > 500
        assert row["programs"]["passed"] + len(row["programs"]["failed"]) >= 30


@pytest.mark.network
def test_the_newest_release_of_the_index_does_what_the_pinned_one_does(tmp_path: Path) -> None:
    """In an environment of its own, whatever the configuration of pip here allows; it takes some minutes and 6 GB."""
    environment = {**os.environ, "PIP_CONFIG_FILE": os.devnull}
    asked = [sys.executable, "-m", "pip", "index", "versions", "torch"]
    told = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True).stdout
    newest = re.match(r"torch \(([\d.]+)\)", told)
    assert newest, told
    command = [sys.executable, "scripts/matrix.py", "--print", "--release", newest[1], "--environments", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
