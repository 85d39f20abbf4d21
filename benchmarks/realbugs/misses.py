"""Why torchdevlint misses what it misses: `misses.jsonl` holds one bug and one line of reason a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import jsonl
from corpus import CorpusError
from linters import OURS
from records import Bug, Records
from score import Score


def load(data: Path) -> dict[str, str]:
    """Reasons by the id of the bug; an empty reason, or two for one bug, are refused."""
    path, reasons = data / "misses.jsonl", dict[str, str]()
    for row in jsonl.read(path):
        if set(row) != {"id", "reason"} or not row["reason"].strip() or row["id"] in reasons:
            raise CorpusError(f"{path}: no reason, two reasons, or unknown fields: {row}")
        reasons[row["id"]] = row["reason"]
    return reasons


def save(reasons: Mapping[str, str], data: Path) -> None:
    jsonl.write(data / "misses.jsonl", [{"id": bug, "reason": reasons[bug]} for bug in sorted(reasons)])


def missed(scores: Iterable[Score], records: Records) -> list[Bug]:
    """What the stored score of torchdevlint misses; nothing if there is none."""
    return [bug for score in scores if score.linter == OURS for bug in score.missed(records)]


def unexplained(bugs: Iterable[Bug], reasons: Mapping[str, str]) -> list[Bug]:
    return [bug for bug in bugs if bug.id not in reasons]


def stale(bugs: Iterable[Bug], reasons: Mapping[str, str]) -> list[str]:
    """Ids that have a reason although they are not missed."""
    return sorted(set(reasons) - {bug.id for bug in bugs})


def named(given: str, bugs: Iterable[Bug]) -> Bug:
    """The bug whose id is `given`, or the only one whose id contains it."""
    matches = [bug for bug in bugs if given in bug.id]
    exact = [bug for bug in matches if bug.id == given]
    if len(exact or matches) != 1:
        raise CorpusError(f"{given} names {len(matches)} of the missed bugs, not one")
    return (exact or matches)[0]
