"""The real fixes and the look-alikes as data.

`bugs.jsonl` holds one fix commit of a public repository a line, `lookalikes.jsonl` one place of right code that naive
rules flag. A record that turns out to be wrong stays, with the reason in `left_out`, and is not scored.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonl
from corpus import CorpusError

SINGLE_FILE = ("yes", "maybe", "no")
"""Whether the file alone shows the bug: a judgement from the diff."""


@dataclass(frozen=True)
class Bug:
    """A bug and its fix: in `path` before the fix, a perfect linter reports `lines`.

    `post_lines` is how many lines the file has after the fix, `note` what a reader should know of that file.
    """

    id: str
    repo: str
    fix_commit: str
    parent_commit: str
    path: str
    lines: tuple[int, ...]
    post_lines: int
    category: str
    single_file: str
    why: str
    note: str = ""
    left_out: str = ""

    @property
    def sources(self) -> tuple[tuple[str, str], ...]:
        """The folder that a version of the file is written to, and the commit it is taken from."""
        return (("pre", self.parent_commit), ("post", self.fix_commit))


@dataclass(frozen=True)
class LookAlike:
    """Right code on `lines` of `path` that looks like a bug, and why it is right."""

    id: str
    repo: str
    commit: str
    path: str
    lines: tuple[int, ...]
    why_ok: str
    left_out: str = ""

    @property
    def sources(self) -> tuple[tuple[str, str], ...]:
        return (("head", self.commit),)


@dataclass(frozen=True)
class Records:
    """What is scored, sorted by id, and what is not."""

    bugs: tuple[Bug, ...]
    lookalikes: tuple[LookAlike, ...]
    left_out: tuple[Bug | LookAlike, ...]

    @property
    def cases(self) -> tuple[Bug | LookAlike, ...]:
        return (*self.bugs, *self.lookalikes)

    @property
    def post_lines(self) -> int:
        return sum(bug.post_lines for bug in self.bugs)


def load(data: Path) -> Records:
    """The records of `bugs.jsonl` and `lookalikes.jsonl` in `data`."""
    bugs = _read(data / "bugs.jsonl", Bug)
    alike = _read(data / "lookalikes.jsonl", LookAlike)
    both: list[Bug | LookAlike] = [*bugs, *alike]
    if len({case.id for case in both}) != len(both):
        raise CorpusError(f"{data}: two records have one id")
    return Records(
        bugs=tuple(bug for bug in bugs if not bug.left_out),
        lookalikes=tuple(case for case in alike if not case.left_out),
        left_out=tuple(case for case in both if case.left_out),
    )


def _read(path: Path, kind: Any) -> list[Any]:
    try:
        found = [kind(**{**row, "lines": tuple(row["lines"])}) for row in jsonl.read(path)]
    except (KeyError, TypeError) as error:
        raise CorpusError(f"{path}: {error}") from error
    for record in found:
        if not record.lines or getattr(record, "single_file", "yes") not in SINGLE_FILE:
            raise CorpusError(f"{path}: {record.id} has no line, or an unknown single_file")
    return sorted(found, key=lambda record: str(record.id))
