"""The record of what `verify` said of packages that were drawn: every verdict has been read."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import executed  # noqa: E402
from corpus import CorpusError  # noqa: E402

ROW = {
    "label": "a-1", "path": "a.py", "row": 1, "column": 1, "code": "TDL014", "verdict": "confirmed", "rung": "slice",
    "importable": False, "finding": "true", "reader": "right", "note": "",
}  # fmt: skip
DRAW = {
    "name": "a draw", "date": "2026-11-25", "commit": "0000000", "seed": "a", "torch": "2.13.0+cpu",
    "releases": [{"name": "a", "version": "1", "archive": "a-1.zip", "sha256": "0" * 64}],
}  # fmt: skip


def stored(folder: Path, **changed: object) -> Path:
    ledger = folder / "executed.jsonl"
    ledger.write_text(json.dumps(DRAW) + "\n", encoding="utf-8")
    (folder / "executed").mkdir()
    (folder / "executed" / "a-draw.jsonl").write_text(json.dumps({**ROW, **changed}) + "\n", encoding="utf-8")
    return ledger


def test_what_is_stored_has_been_read_and_is_of_the_packages_that_are_pinned() -> None:
    for draw in executed.load():
        assert {row["label"] for row in draw.rows} <= {release.label for release in draw.releases}
        assert all(len(release.sha256) == 64 for release in draw.releases)


@pytest.mark.parametrize(
    "changed", [{"reader": ""}, {"reader": "import"}, {"verdict": "inconclusive"}, {"finding": "perhaps"}]
)
def test_a_verdict_that_nobody_has_read_is_refused(tmp_path: Path, changed: dict[str, object]) -> None:
    with pytest.raises(CorpusError, match=r"a-1: a.py:1 TDL014: `reader` is one of"):
        executed.load(stored(tmp_path, **changed))


def test_a_draw_of_which_nothing_can_be_imported_has_a_line(tmp_path: Path) -> None:
    assert "whose module can be imported 0 of 0" in executed.render(executed.load(stored(tmp_path)))


@pytest.mark.parametrize(("changed", "line"), [
    ({}, "| a draw | 1 | 1 | 1 | 0 | 0 | 0 | 0 | 1 | 1 (100.0 %) | 0 | 0 |"),
    ({"reader": "wrong"}, "| a draw | 1 | 1 | 1 | 1 | 0 | 0 | 0 | 1 | 1 (100.0 %) | 0 | 0 |"),
    ({"verdict": "refuted"}, "| a draw | 1 | 1 | 0 | 0 | 1 | 0 | 0 | 1 | 0 (0.0 %) | 0 | 0 |"),
    ({"verdict": "inconclusive", "reader": "values"}, "| a draw | 1 | 1 | 0 | 0 | 0 | 0 | 1 | 1 | 0 (0.0 %) | 0 | 0 |"),
])  # fmt: skip
def test_the_table_counts_what_is_wrong_apart(tmp_path: Path, changed: dict[str, object], line: str) -> None:
    assert line in executed.render(executed.load(stored(tmp_path, importable=True, **changed)))
