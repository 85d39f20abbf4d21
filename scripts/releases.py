"""How the simulation did under each release of PyTorch, as `scripts/matrix.py` stored it, and as the page shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STORED = Path(__file__).resolve().parent / "ecosystem" / "matrix.jsonl"
RELEASES = (
    "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0",
)  # fmt: skip
"""The last of each minor release since 2.4, the first that `torchdevlint[verify]` allows."""
PARTS = ("truth", "tests", "programs")
HEADER = (
    "torch", "cases that state something", "met", "excused", "own tests passed", "skipped", "failed",
    "programs right", "wrong",
)  # fmt: skip


def load() -> list[dict[str, Any]]:
    """The stored rows, by release."""
    text = STORED.read_text(encoding="utf-8") if STORED.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def store(row: Mapping[str, Any]) -> None:
    """Keep `row` in the place of what was stored of its release."""
    kept = [other for other in load() if release_of(other) != release_of(row)]
    rows = sorted([*kept, row], key=lambda each: [int(number) for number in release_of(each).split(".")])
    STORED.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")


def release_of(row: Mapping[str, Any]) -> str:
    """``2.15.0`` of ``2.15.0+cu132``."""
    return str(row["torch"]).partition("+")[0]


def faults(row: Mapping[str, Any]) -> list[str]:
    """A line for each thing that went wrong under a release."""
    return [f"- {release_of(row)}: `{name}`" for part in PARTS for name in row[part]["failed"]]


def render(rows: Sequence[Mapping[str, Any]], releases: Sequence[str] = RELEASES) -> str:
    """The table of the rows, what failed, and which of the `releases` are not among them."""
    lines = [HEADER, ["---", *["---:"] * (len(HEADER) - 1)], *map(_cells, rows)]
    parts = ["\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)]
    failed = [line for row in rows for line in faults(row)]
    if failed:
        parts.append("What failed:\n\n" + "\n".join(failed))
    missing = [release for release in releases if release not in {release_of(row) for row in rows}]
    if missing:
        parts.append(f"Not run: {', '.join(missing)}.")
    return "\n\n".join(parts)


def _cells(row: Mapping[str, Any]) -> list[object]:
    truth, tests, programs = (row[part] for part in PARTS)
    return [
        *(row["torch"], truth["stated"], truth["met"], truth["excused"]),
        *(tests["passed"], tests["skipped"], len(tests["failed"])),
        *(programs["passed"], len(programs["failed"])),
    ]
