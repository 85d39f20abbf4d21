"""Packages that nobody had looked at: what `verify` said of their findings, and what a reader of each verdict says.

A draw is one row of `scripts/ecosystem/executed.jsonl`, with its packages as they are pinned. Its findings are the rows
of `scripts/ecosystem/executed/NAME.jsonl`, written before anything was changed because of them:

- `verdict`, `rung`: what `verify` said. `importable`: whether the module of the finding could be imported.
- `finding`: true, harmless or false, by reading the code.
- `reader`: "right" or "wrong" of what was confirmed or refuted. A confirmation is right if the operands of the error
  are those of the finding; a refutation, if what was flagged ran with them. Of what is inconclusive it is one of
  `CAUSES`.
- `note`: one line.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import corpus
import jsonl
import tables
import verdicts
from corpus import CorpusError, Release

DATA = Path(__file__).resolve().parent / "ecosystem"
LEDGER = DATA / "executed.jsonl"
APART = ("TDL201",)
"""Of these only the flagged statement is executed, with a file of ours, so that they are counted apart."""
DECIDED = ("right", "wrong")
CAUSES = {
    "import": "the module cannot be imported here",
    "values": "no values were found with which it runs",
    "branch": "it ran, and did not come to what was flagged",
    "before": "another error comes first",
    "callers": "only its callers know its arguments",
    "part": "only a part could be run, and what it leaves out may put it right",
    "rule": "findings of this rule are not executed",
    "nothing": "it ran, and what it showed proves nothing",
}
"""Why a verdict is inconclusive, as a reader of it says."""
JUDGED = ("true", "harmless", "false")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Executed:
    """One draw: its packages in the order in which they were drawn, and its findings."""

    name: str
    date: str
    commit: str
    seed: str
    torch: str
    releases: tuple[Release, ...]
    rows: tuple[Row, ...]


def load(ledger: Path = LEDGER) -> list[Executed]:
    """All draws. Raises CorpusError for a verdict that nobody has read."""
    found = []
    for row in jsonl.read(ledger):
        rows = jsonl.read(ledger.parent / "executed" / f"{row['name'].replace(' ', '-')}.jsonl")
        for each in rows:
            _has_been_read(each)
        releases = tuple(Release(**one, set="drawn", files=0, lines=0) for one in row["releases"])
        given = (row[key] for key in ("name", "date", "commit", "seed", "torch"))
        found.append(Executed(*given, releases, tuple(rows)))
    return found


def _has_been_read(row: Row) -> None:
    allowed = DECIDED if row["verdict"] != "inconclusive" else tuple(CAUSES)
    if row["reader"] not in allowed or row["finding"] not in JUDGED:
        place = f"{row['label']}: {row['path']}:{row['row']} {row['code']}"
        raise CorpusError(f"{place}: `reader` is one of {', '.join(allowed)}, `finding` one of {', '.join(JUDGED)}")


def again(options: argparse.Namespace, execute: Any) -> int:
    """Execute the findings of pinned packages once more, and print what is another verdict than the one recorded.

    `execute` gives the rows of a release. The exit code is 1 if a confirmation or refutation has become the other.
    """
    chosen = [draw for draw in load() if not options.draw or draw.name in options.draw]
    turned = 0
    for draw in chosen:
        for release in draw.releases:
            if options.release and not {release.name, f"{release.name}=={release.version}"} & set(options.release):
                continue
            before = {_place(row): row for row in draw.rows if row["label"] == release.label}
            rows = execute(options, corpus.folder(release, options.cache))
            now = {_place(row): row for row in rows}
            print(f"{draw.name}: {release.label}: {_counted(now.values())} (recorded: {_counted(before.values())})")
            for place in sorted(before.keys() | now.keys()):
                old, new = before.get(place), now.get(place)
                was, is_now = (_told(row) for row in (old, new))
                if was != is_now:
                    print(f"  {place[0]}:{place[1]} {place[2]}: {was} -> {is_now}")
                verdict = {row["verdict"] for row in (old, new) if row is not None}
                turned += verdict == {"confirmed", "refuted"}
            sys.stdout.flush()
    return int(bool(turned))


def _place(row: Row) -> tuple[str, int, str, int]:
    return row["path"], row["row"], row["code"], row.get("column", 0)


def _told(row: Row | None) -> str:
    return "not found" if row is None else " ".join(filter(None, (row["verdict"], row["rung"])))


def _counted(rows: Iterable[Row]) -> str:
    counts = Counter(row["verdict"] for row in rows if row["code"] not in APART)
    return ", ".join(f"{counts[name]} {name}" for name in ("confirmed", "refuted", "inconclusive"))


def render(draws: Sequence[Executed]) -> str:
    """A table of draws, what is inconclusive by its cause, and the packages of each."""
    header = [
        "draw", "packages", "findings", "confirmed", "wrongly", "refuted", "wrongly", "inconclusive",
        "importable", "of these confirmed", "TDL201", "confirmed",
    ]  # fmt: skip
    lines = [_line(draw) for draw in draws]
    causes = [[text, *(_of_cause(draw, cause) for draw in draws)] for cause, text in CAUSES.items()]
    return "\n\n".join(
        (
            tables.markdown(header, lines),
            *(_where(draw) for draw in draws),
            "Why what is inconclusive is so, without TDL201:",
            tables.markdown(["cause", *(draw.name for draw in draws)], [line for line in causes if any(line[1:])]),
            "By package, without TDL201:",
            tables.markdown(
                ["package", "draw", "findings", "importable", "confirmed", "refuted", "inconclusive"],
                [_of_package(draw, release) for draw in draws for release in draw.releases],
            ),
        )
    )


def _where(draw: Executed) -> str:
    there = [row for row in draw.rows if row["code"] not in APART and row["importable"]]
    largest = next((label for label, _ in Counter(row["label"] for row in there).most_common(1)), "none")
    parts = {
        "of those whose module can be imported": there,
        "of the true ones among them": _with(there, finding="true"),
        f"of all but those of {largest}": [row for row in there if row["label"] != largest],
        f"of the true ones but those of {largest}": [
            row for row in _with(there, finding="true") if row["label"] != largest
        ],
    }
    shares = ", ".join(
        f"{text} {len(_with(rows, verdict='confirmed'))} of {len(rows)}" for text, rows in parts.items()
    )
    return (
        f"{draw.name}: {draw.date}, commit {draw.commit}, drawn by `{draw.seed}`, torch {draw.torch}. Confirmed were, "
        f"{shares}."
    )


def _of_package(draw: Executed, release: Release) -> list[object]:
    rows = [row for row in draw.rows if row["label"] == release.label and row["code"] not in APART]
    there = len(_with(rows, importable=True))
    counts = [len(_with(rows, verdict=one)) for one in ("confirmed", "refuted", "inconclusive")]
    return [f"{release.name} {release.version}", draw.name, len(rows), there, *counts]


def _line(draw: Executed) -> list[object]:
    rows = [row for row in draw.rows if row["code"] not in APART]
    apart = [row for row in draw.rows if row["code"] in APART]
    confirmed, refuted = (_with(rows, verdict=one) for one in ("confirmed", "refuted"))
    there = _with(rows, importable=True)
    shown = len(_with(there, verdict="confirmed"))
    return [
        draw.name, len(draw.releases), len(rows), len(confirmed), len(_with(confirmed, reader="wrong")),
        len(refuted), len(_with(refuted, reader="wrong")), len(_with(rows, verdict="inconclusive")),
        len(there), f"{shown} ({verdicts.share(shown, len(there))})",
        len(apart), len(_with(apart, verdict="confirmed")),
    ]  # fmt: skip


def _of_cause(draw: Executed, cause: str) -> int:
    return len([row for row in draw.rows if row["reader"] == cause and row["code"] not in APART])


def _with(rows: Iterable[Row], **wanted: object) -> list[Row]:
    return [row for row in rows if all(row[key] == one for key, one in wanted.items())]
