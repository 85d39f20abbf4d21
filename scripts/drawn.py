"""The findings of a draw as data: what is judged, how judgements are counted, and the sheet that a judge reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import jsonl
import verdicts
from corpus import CorpusError

COLUMNS = (
    "date", "commit", "seed", "code", "lines", "findings", "true", "harmless", "false",
    "worth acting upon", "precision", "safe fixes", "wrong",
)  # fmt: skip
JUDGED_FIXES = ("right", "wrong")


@dataclass(frozen=True)
class Draw:
    """Which code was drawn, when, and with which commit of the linter; `lines` counts its ``.py`` files."""

    name: str
    date: str
    commit: str
    seed: str
    of: str
    sources: tuple[str, ...]
    lines: int

    def as_row(self) -> dict[str, Any]:
        return {**asdict(self), "sources": list(self.sources)}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Draw:
        given = {each.name: row[each.name] for each in fields(cls)}
        return cls(**{**given, "sources": tuple(given["sources"])})


@dataclass(frozen=True)
class Judged:
    """One finding of a draw, and what somebody who read the code found it to be.

    `cell` counts the cells of a notebook from 1 and is 0 elsewhere. `fix` is empty where there is no safe fix, "safe"
    until it is judged, then "right" or "wrong". A `key` outlives code that moves within its file.
    """

    key: str
    label: str
    path: str
    cell: int
    row: int
    code: str
    message: str
    fix: str = ""
    verdict: str = ""
    reason: str = ""

    @property
    def is_judged(self) -> bool:
        return self.verdict in verdicts.VERDICTS and bool(self.reason.strip()) and self.fix in ("", *JUDGED_FIXES)

    @property
    def place(self) -> str:
        cell = f":cell {self.cell}" if self.cell else ""
        return f"{self.label}/{self.path}{cell}:{self.row}"

    def as_row(self) -> dict[str, Any]:
        return asdict(self)


def load(path: Path) -> list[Judged]:
    try:
        return [Judged(**row) for row in jsonl.read(path)]
    except TypeError as error:
        raise CorpusError(f"{path}: {error}") from error


def judgeable(raw: Iterable[Mapping[str, Any]], label: str, root: Path) -> list[Judged]:
    """The linter's JSON findings on the code in `root`, none of them judged yet, by place."""
    found, seen = [], Counter[str]()
    for item in sorted(raw, key=_order):
        path, cell, row = item["filename"], item["cell"] or 0, item["location"]["row"]
        lines = lines_of(root / path, cell)
        text = lines[row - 1].strip() if row <= len(lines) else ""
        stem = f"{label}/{path}:{item['code']}:{verdicts.digest(text)[:12]}"
        seen[stem] += 1
        safe = item["fix"] is not None and item["fix"]["applicability"] == "safe"
        key = f"{stem}:{seen[stem]}"
        found.append(Judged(key, label, path, cell, row, item["code"], item["message"], "safe" if safe else ""))
    return found


def _order(item: Mapping[str, Any]) -> tuple[str, int, int, str, str]:
    return item["filename"], item["cell"] or 0, item["location"]["row"], item["code"], item["message"]


def lines_of(path: Path, cell: int) -> list[str]:
    """The lines of a file, or of one cell of a notebook."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if cell:
        cells = json.loads(text)["cells"]
        text = "".join(cells[cell - 1]["source"])
    return text.split("\n")


def counts(found: Sequence[Judged]) -> dict[str, int]:
    """How many findings were judged how, and how many safe fixes there are and were wrong."""
    tally = Counter(each.verdict for each in found)
    fixes = Counter(each.fix for each in found if each.fix)
    return {
        "findings": len(found),
        **{verdict: tally[verdict] for verdict in verdicts.VERDICTS},
        "safe_fixes": fixes.total(),
        "wrong_fixes": fixes["wrong"],
    }


def cells(row: Mapping[str, Any]) -> list[object]:
    """A row of the ledger as the page shows it."""
    code = f"{len(row['sources'])} {row['of']}"
    true, harmless, findings = row["true"], row["harmless"], row["findings"]
    shares = [verdicts.share(true, findings), verdicts.share(true + harmless, findings)]
    made = [row["date"], f"`{row['commit']}`", f"`{row['seed']}`", code, f"{row['lines']:,}"]
    return [*made, findings, true, harmless, row["false"], *shares, row["safe_fixes"], row["wrong_fixes"]]


def section(finding: Judged, root: Path, context: int) -> str:
    """A finding with the code around it, for the sheet of a judge."""
    lines = lines_of(root / finding.path, finding.cell)
    first = max(1, finding.row - context)
    shown = enumerate(lines[first - 1 : finding.row + context], start=first)
    code = "\n".join(f"{'>' if row == finding.row else ' '}{row:6} | {text}" for row, text in shown)
    fix = ", has a safe fix" if finding.fix else ""
    return f"## {finding.place} {finding.code}{fix}\n{finding.key}\n\n{finding.message}\n\n```\n{code}\n```\n\n"
