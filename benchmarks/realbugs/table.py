"""Scores as text: Markdown for `docs/ecosystem.md`, columns and code for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import misses
import tables
from linters import OURS
from records import SINGLE_FILE, Bug, LookAlike, Records
from score import Score

HEADER = (
    "linter",
    *(f"`{single}`: {what}" for single in SINGLE_FILE[:2] for what in ("found", "and quiet", "share")),
    "findings per 1,000 lines",
    "look-alikes",
)
BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"


def render(title: str, records: Records, scores: Sequence[Score], reasons: Mapping[str, str]) -> str:
    """What the page says of one set."""
    repositories = len({bug.repo for bug in records.bugs})
    size = f"{len(records.bugs)} fixes in {repositories} repositories, {records.post_lines:,} lines after the fix"
    sections = [f"### {title}", f"{size}, {len(records.lookalikes)} look-alikes."]
    if scores:
        sections += [tables.markdown(HEADER, summary(records, scores)), *_with_left_out(records, scores)]
        header = ("category", "one file", "bugs", *(score.title for score in scores))
        sections += ["Found, and of those quiet after the fix:", tables.markdown(header, categories(records, scores))]
    sections += _alarms(records, scores) + _left_out(records) + _misses(misses.missed(scores, records), reasons)
    return "\n\n".join(sections)


def summary(records: Records, scores: Iterable[Score]) -> list[list[str]]:
    """A row for each linter."""
    return [
        [
            score.title,
            *(cell for single in SINGLE_FILE[:2] for cell in _shares(score, _of(records, single))),
            f"{score.noise_rate(records):.2f}",
            f"{len(score.alarmed(records))} of {len(records.lookalikes)}",
        ]
        for score in scores
    ]


def categories(records: Records, scores: Iterable[Score]) -> list[list[str]]:
    """A row for each category and judgement of `single_file`, then totals; a cell is ``found / quiet``."""
    scores = list(scores)
    kinds = sorted({(bug.category, SINGLE_FILE.index(bug.single_file)) for bug in records.bugs})
    rows = []
    for category, index in kinds:
        bugs = [bug for bug in _of(records, SINGLE_FILE[index]) if bug.category == category]
        rows.append(_row(category, SINGLE_FILE[index], bugs, scores))
    rows += [_row("**all**", single, _of(records, single), scores) for single in SINGLE_FILE]
    return [*rows, _row("**all**", "any", records.bugs, scores)]


def code(bug: Bug, files: Path, context: int) -> list[str]:
    """The labelled lines of the file before the fix with `context` lines around them, if it is checked out."""
    path = files / bug.id / "pre" / bug.path
    if not path.is_file():
        return ["  (not checked out)"]
    lines = path.read_text(encoding="utf-8", errors="replace").removeprefix(BOM).split("\n")
    shown = {row for line in bug.lines for row in range(line - context, line + context + 1)}
    printed: list[str] = []
    last = 0
    for row in sorted(shown & set(range(1, len(lines) + 1))):
        printed += ["  ..."] if last and row != last + 1 else []
        printed.append(f"{'>' if row in bug.lines else ' '}{row:6} | {lines[row - 1].rstrip()}")
        last = row
    return printed


def _of(records: Records, single: str) -> list[Bug]:
    return [bug for bug in records.bugs if bug.single_file == single]


def _shares(score: Score, bugs: Sequence[Bug]) -> list[str]:
    found, quiet = _counts(score, bugs)
    return [f"{found} of {len(bugs)}", str(quiet), f"{quiet / len(bugs):.0%}".replace("%", " %") if bugs else "-"]


def _counts(score: Score, bugs: Iterable[Bug]) -> tuple[int, int]:
    ids = {bug.id for bug in bugs}
    return len(ids & set(score.found)), len(ids & set(score.quiet))


def _row(title: str, single: str, bugs: Sequence[Bug], scores: Iterable[Score]) -> list[str]:
    return [title, single, str(len(bugs)), *("{} / {}".format(*_counts(score, bugs)) for score in scores)]


def _alarms(records: Records, scores: Iterable[Score]) -> list[str]:
    alarms = [case for score in scores if score.linter == OURS for case in score.alarmed(records)]
    lines = [f"- {_place(case)}: {case.why_ok}" for case in alarms]
    return ["Look-alikes that torchdevlint reports:\n\n" + "\n".join(lines)] if lines else []


def _with_left_out(records: Records, scores: Iterable[Score]) -> list[str]:
    """The shares of torchdevlint if every fix that is left out were a bug that it misses."""
    left = [case for case in records.left_out if isinstance(case, Bug)]
    everything = replace(records, bugs=(*records.bugs, *left))
    lines = []
    for score in scores:
        if score.linter == OURS and left:
            shares = [f"{_shares(score, _of(everything, single))[-1]} of `{single}`" for single in SINGLE_FILE[:2]]
            lines.append(f"If the fixes that are left out ({len(left)}) were bugs, all missed: {', '.join(shares)}.")
    return lines


def _left_out(records: Records) -> list[str]:
    lines = [f"- {_place(case)}: {case.left_out}" for case in records.left_out]
    return ["Records that are left out:\n\n" + "\n".join(lines)] if lines else []


def _misses(missed: Sequence[Bug], reasons: Mapping[str, str]) -> list[str]:
    """The misses of torchdevlint by reason, the most frequent first."""
    grouped: dict[str, list[Bug]] = {}
    for bug in missed:
        grouped.setdefault(reasons.get(bug.id, f"not explained yet, {bug.category}"), []).append(bug)
    order = sorted(grouped, key=lambda reason: (-len(grouped[reason]), reason))
    lines = [f"- {reason} ({len(grouped[reason])}): {', '.join(map(_place, grouped[reason]))}" for reason in order]
    return ["What torchdevlint misses, by reason:\n\n" + "\n".join(lines)] if lines else []


def _place(case: Bug | LookAlike) -> str:
    return f"{case.repo} `{case.path}:{case.lines[0]}`"
