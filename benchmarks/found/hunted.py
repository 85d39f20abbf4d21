"""Packages that `torchdevlint hunt` went through: what each hunt came to, what its reports are, and the tables of both.

A row of ``hunted.jsonl`` is one package. What the hunt says of it is taken from its JSON report (`row_of`); the verdict
of each report is a person's, who has read the script and the code, and stays when the package is hunted again.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jsonl
import tables
from corpus import CorpusError

HUNTED = "hunted.jsonl"
TRUE, PRIVATE, FALSE = "true", "private", "false"
VERDICTS = (TRUE, PRIVATE, FALSE)
"""A legal use by users fails on a GPU; it fails, but is the package's own business; no GPU would show it."""
NOT_REACHED = "the time was up"
_REASONS = (
    ("it takes no tensor", re.compile(r"^it takes no tensor")),
    ("it has no body of its own", re.compile(r"NotImplementedError|abstract")),
    (
        "it needs another package",
        re.compile(r"ModuleNotFoundError|ImportError|pip install|to be installed|not installed"),
    ),
    ("it needs files or a network", re.compile(r"FileNotFoundError|no network|is written outside|No such file")),
    ("it took too long, or ended the process", re.compile(r"timed out|died")),
    ("no shape or type fits", re.compile(r"RuntimeError|IndexError|ShapeError|EinopsError|dimension|shape")),
    ("no kind of value fits", re.compile(r"TypeError|AttributeError|KeyError")),
    ("what it checks itself is not met", re.compile(r"AssertionError|ValueError|Exception|Error")),
)


@dataclass(frozen=True)
class Report:
    """One bug that a hunt reports: its target and mode, and where it raises. `script` names it among the bugs found."""

    target: str
    mode: str
    raised: str
    verdict: str = ""
    script: str = ""
    note: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.target, self.mode, self.raised


@dataclass(frozen=True)
class Hunted:
    """What became of one package. `begun` are the targets that the time was enough for; `seconds` are those of the CPU.

    `tests` says that the calls of the project's own tests were hunted first.
    """

    package: str
    version: str
    torch: str
    targets: int
    begun: int
    executed: int
    seconds: int
    tests: bool
    reasons: Mapping[str, int]
    reports: Sequence[Report]


def load(folder: Path) -> list[Hunted]:
    """The packages, by name."""
    rows = jsonl.read(folder / HUNTED)
    every = [Hunted(**{**row, "reports": [Report(**each) for each in row["reports"]]}) for row in rows]
    return sorted(every, key=lambda one: one.package)


def add(folder: Path, fresh: Hunted) -> None:
    """Write a package in place of what is stored of it. The verdicts of the same reports stay."""
    known = {one.package: one for one in load(folder)}
    judged = {one.key: one for one in known[fresh.package].reports} if fresh.package in known else {}
    reports = [judged.get(one.key, one) for one in fresh.reports]
    known[fresh.package] = Hunted(**{**vars(fresh), "reports": reports})
    jsonl.write(folder / HUNTED, [asdict(known[name]) for name in sorted(known)])


def row_of(package: str, version: str, report: Path, seconds: int, tests: bool) -> Hunted:
    """What the JSON report of a hunt says. Raises OSError or CorpusError."""
    try:
        told = json.loads(report.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CorpusError(f"{report}: {error}") from error
    targets = told["targets"]
    begun = [one for one in targets if not one["why"].startswith(NOT_REACHED)]
    return Hunted(
        package,
        version,
        told["torch"],
        len(targets),
        len(begun),
        sum(not one["why"] for one in begun),
        seconds,
        tests,
        dict(sorted(Counter(reason(one["why"]) for one in begun if one["why"]).items())),
        [_report(bug, one) for bug in told["bugs"] for one in [bug["failure"]]],
    )


def _report(_bug: Mapping[str, Any], failure: Mapping[str, Any]) -> Report:
    target, raised = failure["target"], failure["raised"]
    package = target["module"].partition(".")[0]
    place = f"{_inside(raised['filename'], package)}:{raised['line']}" if raised else ""
    return Report(f"{target['module']}:{target['qualname']}", failure["mode"], place)


def _inside(filename: str, package: str) -> str:
    _, found, rest = filename.partition(f"/{package}/")
    return f"{package}/{rest}" if found else Path(filename).name


def reason(why: str) -> str:
    """Why a target was not executed, as one of a few reasons."""
    return next((name for name, pattern in _REASONS if pattern.search(why)), "another reason")


def page(hunted: Sequence[Hunted]) -> str:
    """The tables. Raises CorpusError where a report has no verdict."""
    for one in hunted:
        for each in one.reports:
            if each.verdict not in VERDICTS:
                raise CorpusError(
                    f"{one.package}: {each.target} ({each.mode}) has no verdict: one of {', '.join(VERDICTS)}"
                )
    rows = [_row(one) for one in hunted]
    begun, executed = sum(one.begun for one in hunted), sum(one.executed for one in hunted)
    total = (
        "**all**", sum(one.targets for one in hunted), begun, _share(executed, begun),
        sum(len(one.reports) for one in hunted), *(sum(_number(one, each) for one in hunted) for each in VERDICTS),
        sum(one.seconds for one in hunted),
    )  # fmt: skip
    header = ("package", "targets", "begun", "executed", "reports", *VERDICTS, "CPU seconds")
    return "\n\n".join([tables.markdown(header, [*rows, total]), _reasons(hunted)])


def _row(one: Hunted) -> tuple[object, ...]:
    name = f"{one.package} {one.version}{' (tests)' if one.tests else ''}"
    counted = (_number(one, verdict) for verdict in VERDICTS)
    return name, one.targets, one.begun, _share(one.executed, one.begun), len(one.reports), *counted, one.seconds


def _reasons(hunted: Sequence[Hunted]) -> str:
    counts: Counter[str] = Counter()
    for one in hunted:
        counts.update(one.reasons)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return tables.markdown(("why a target was not executed", "targets"), rows)


def _number(one: Hunted, verdict: str) -> int:
    return sum(each.verdict == verdict for each in one.reports)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"
