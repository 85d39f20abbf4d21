"""How a linter does on the records, and the stored scores.

found      a finding, or a place that it names as related, lies within `SLACK` lines of a labelled line before the fix
quiet      ... and its code is reported for fewer lines of the file after the fix
noise      findings in the files after the fix
alarm      a look-alike one of whose labelled lines a finding's own place touches
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import jsonl
from corpus import CorpusError
from linters import NAMES, Finding, Run
from records import Bug, LookAlike, Records

SLACK = 2


@dataclass(frozen=True)
class Score:
    """The result of one linter: ids of bugs found, of those that are quiet after the fix, and of alarms.

    `noise` has the number of findings after the fix for each bug with any.
    """

    linter: str
    version: str
    found: tuple[str, ...]
    quiet: tuple[str, ...]
    alarms: tuple[str, ...]
    noise: dict[str, int]

    @property
    def title(self) -> str:
        return f"{self.linter} {self.version}".strip()

    def findings_after(self, records: Records) -> int:
        return sum(self.noise.get(bug.id, 0) for bug in records.bugs)

    def noise_rate(self, records: Records) -> float:
        """Findings per 1,000 lines after the fix."""
        return 1000 * self.findings_after(records) / max(records.post_lines, 1)

    def alarmed(self, records: Records) -> list[LookAlike]:
        return [case for case in records.lookalikes if case.id in self.alarms]

    def missed(self, records: Records) -> list[Bug]:
        """Bugs that were not found, or whose report stays after the fix."""
        return [bug for bug in records.bugs if bug.id not in self.quiet]


def score(run: Run, records: Records) -> Score:
    """Hold the findings of `run` against the labels."""
    by_file: defaultdict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in run.findings:
        by_file[finding.id, finding.kind].append(finding)
    hits = {bug.id: [f for f in by_file[bug.id, "pre"] if _hits(f, bug)] for bug in records.bugs}
    after = {bug.id: len(by_file[bug.id, "post"]) for bug in records.bugs}
    return Score(
        linter=run.linter,
        version=run.version,
        found=tuple(bug.id for bug in records.bugs if hits[bug.id]),
        quiet=tuple(
            bug.id for bug in records.bugs if _goes_quiet(hits[bug.id], by_file[bug.id, "pre"], by_file[bug.id, "post"])
        ),
        alarms=tuple(case.id for case in records.lookalikes if _alarms(by_file[case.id, "head"], case)),
        noise={bug: count for bug, count in after.items() if count},
    )


def load(data: Path) -> list[Score]:
    """The stored scores, in the order of `NAMES`."""
    path = data / "results.jsonl"
    lists = ("found", "quiet", "alarms")
    try:
        scores = [Score(**{**row, **{key: tuple(row[key]) for key in lists}}) for row in jsonl.read(path)]
        return sorted(scores, key=lambda score: NAMES.index(score.linter))
    except (KeyError, TypeError, ValueError) as error:
        raise CorpusError(f"{path}: {error}") from error


def store(new: Iterable[Score], data: Path) -> None:
    """Put `new` in the place of the stored scores of the same linters."""
    scores = {score.linter: score for score in [*load(data), *new]}
    jsonl.write(data / "results.jsonl", [asdict(scores[name]) for name in NAMES if name in scores])


def _hits(finding: Finding, bug: Bug) -> bool:
    return any(first - SLACK <= row <= last + SLACK for first, last in finding.spans for row in bug.lines)


def _goes_quiet(hits: Iterable[Finding], before: Iterable[Finding], after: Iterable[Finding]) -> bool:
    was, now = Counter[str](), Counter[str]()
    for finding in before:
        was[finding.code] += finding.lines
    for finding in after:
        now[finding.code] += finding.lines
    return any(was[finding.code] > now[finding.code] for finding in hits)


def _alarms(findings: Iterable[Finding], case: LookAlike) -> bool:
    return any(first <= row <= last for first, last in (f.spans[0] for f in findings) for row in case.lines)
