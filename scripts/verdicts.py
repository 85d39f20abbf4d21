"""Findings on the pinned releases as data: their keys, the stored snapshot, and what a reader judged of each.

`snapshot.jsonl` holds one finding a line, `verdicts.jsonl` one judgement a line, both in `scripts/ecosystem/` and both
joined by `key`: release, path, code, a hash of the flagged source line and its occurrence. Code that moves up or down
in its file keeps its key. Of the rules that are off by default, `advice.jsonl` holds a sample.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jsonl
from corpus import CorpusError, Release

VERDICTS = {
    "true": "the code does what the finding says on an accelerator, in a use that the package allows",
    "harmless": "what the finding says holds, but no use of the package can be hurt by it",
    "false": "the finding says something wrong about the code",
}


@dataclass(frozen=True)
class Finding:
    """One finding on one release."""

    key: str
    package: str
    version: str
    path: str
    row: int
    code: str
    message: str

    @property
    def label(self) -> str:
        return f"{self.package}-{self.version}"

    @property
    def order(self) -> tuple[str, str, str, int, str, str]:
        return (self.package, self.version, self.path, self.row, self.code, self.key)

    @property
    def id(self) -> str:
        """A short name to type; `key` is what is stored."""
        return digest(self.key)[:8]


@dataclass(frozen=True)
class Drawn:
    """A finding that was drawn from the `among` findings of its rule."""

    finding: Finding
    among: int


@dataclass(frozen=True)
class Verdict:
    """What somebody who read the code found a finding to be, one of `VERDICTS`, and why in one line."""

    key: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class Difference:
    """A lint run against the snapshot, by key; `reworded` holds new findings whose message alone changed."""

    added: tuple[Finding, ...]
    removed: tuple[Finding, ...]
    reworded: tuple[Finding, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.reworded)


@dataclass(frozen=True)
class Tally:
    """How many findings were judged how."""

    true: int
    harmless: int
    false: int
    unjudged: int

    @property
    def findings(self) -> int:
        return self.true + self.harmless + self.false + self.unjudged

    @property
    def consequential(self) -> str:
        """True findings among the judged ones, rounded down to a tenth of a percent: those that can hurt somebody."""
        return share(self.true, self.findings - self.unjudged)

    @property
    def precision(self) -> str:
        """Findings among the judged ones whose claim holds, harmless ones with them: what is no false alarm."""
        return share(self.true + self.harmless, self.findings - self.unjudged)


def share(part: int, whole: int) -> str:
    """A percentage rounded down, so that 94.96 % is never shown as 95 %."""
    return f"{part * 1000 // whole / 10:.1f} %" if whole else "-"


def keyed(raw: Iterable[Mapping[str, Any]], release: Release, root: Path) -> list[Finding]:
    """The linter's JSON findings (paths relative to `root`) as `Finding`, sorted."""
    lines: dict[str, list[str]] = {}
    seen: Counter[str] = Counter()
    found = []
    for item in sorted(raw, key=_place):
        path, row = _path(item), int(item["location"]["row"])
        if path not in lines:
            lines[path] = (root / path).read_text(encoding="utf-8", errors="replace").split("\n")
        text = lines[path][row - 1].strip() if row <= len(lines[path]) else ""
        stem = f"{release.label}/{path}:{item['code']}:{digest(text)[:12]}"
        seen[stem] += 1
        key = f"{stem}:{seen[stem]}"
        found.append(Finding(key, release.name, release.version, path, row, item["code"], item["message"]))
    return sorted(found, key=lambda finding: finding.order)


def compare(now: Iterable[Finding], before: Iterable[Finding]) -> Difference:
    new, old = {finding.key: finding for finding in now}, {finding.key: finding for finding in before}
    return Difference(
        added=tuple(finding for key, finding in new.items() if key not in old),
        removed=tuple(finding for key, finding in old.items() if key not in new),
        reworded=tuple(f for key, f in new.items() if key in old and f.message != old[key].message),
    )


def tally(findings: Iterable[Finding], verdicts: Mapping[str, Verdict]) -> Tally:
    counts = Counter(verdicts[f.key].verdict if f.key in verdicts else "unjudged" for f in findings)
    return Tally(counts["true"], counts["harmless"], counts["false"], counts["unjudged"])


def load_snapshot(data: Path) -> list[Finding]:
    """The stored findings, sorted; none if nothing is stored yet."""
    rows = jsonl.read(data / "snapshot.jsonl")
    try:
        return sorted((Finding(**row) for row in rows), key=lambda finding: finding.order)
    except TypeError as error:
        raise CorpusError(f"{data / 'snapshot.jsonl'}: {error}") from error


def save_snapshot(findings: Iterable[Finding], data: Path) -> None:
    jsonl.write(data / "snapshot.jsonl", [asdict(f) for f in sorted(findings, key=lambda finding: finding.order)])


def draw(findings: Iterable[Finding], count: int) -> list[Drawn]:
    """At most `count` findings of each rule: those whose keys have the smallest hashes, whatever their order."""
    held = sorted(findings, key=lambda finding: digest(f"drawn {finding.key}"))
    among = Counter(finding.code for finding in held)
    taken = Counter[str]()
    drawn = []
    for finding in held:
        taken[finding.code] += 1
        if taken[finding.code] <= count:
            drawn.append(Drawn(finding, among[finding.code]))
    return sorted(drawn, key=lambda each: each.finding.order)


def load_drawn(data: Path) -> list[Drawn]:
    """The stored sample, sorted; none if nothing is stored yet."""
    rows = jsonl.read(data / "advice.jsonl")
    try:
        return [Drawn(Finding(**{name: row[name] for name in row if name != "among"}), row["among"]) for row in rows]
    except (KeyError, TypeError) as error:
        raise CorpusError(f"{data / 'advice.jsonl'}: {error}") from error


def save_drawn(drawn: Iterable[Drawn], data: Path) -> None:
    jsonl.write(data / "advice.jsonl", [{**asdict(each.finding), "among": each.among} for each in drawn])


def load_verdicts(data: Path) -> dict[str, Verdict]:
    """Judgements by key; a key judged twice, an unknown verdict or an empty reason is refused."""
    path, found = data / "verdicts.jsonl", dict[str, Verdict]()
    for row in jsonl.read(path):
        try:
            verdict = Verdict(**row)
        except TypeError as error:
            raise CorpusError(f"{path}: {error}") from error
        if verdict.verdict not in VERDICTS or not verdict.reason.strip() or verdict.key in found:
            raise CorpusError(f"{path}: unknown verdict, no reason, or judged twice: {row}")
        found[verdict.key] = verdict
    return found


def save_verdicts(verdicts: Iterable[Verdict], data: Path) -> None:
    jsonl.write(data / "verdicts.jsonl", [asdict(v) for v in sorted(verdicts, key=lambda verdict: verdict.key)])


def _path(item: Mapping[str, Any]) -> str:
    return posixpath.normpath(str(item["filename"]))


def _place(item: Mapping[str, Any]) -> tuple[str, int, int, str, str]:
    return (_path(item), item["location"]["row"], item["location"]["column"], item["code"], item["message"])


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
