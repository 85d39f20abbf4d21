"""Measured results as Markdown, and the places of `docs/` that they are written to."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from corpus import SETS, CorpusError, Release
from verdicts import Drawn, Finding, Tally, Verdict, tally

SET_TITLES = {"gating": "Gating set", "extended": "Extended set"}
COUNTS = ("findings", "true", "harmless", "false", "not judged", "consequential", "precision")


def between_markers(page: str, name: str, text: str) -> str:
    """`page` with everything between ``<!-- name:begin -->`` and ``<!-- name:end -->`` replaced by `text`."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    head, found_begin, rest = page.partition(begin)
    _, found_end, tail = rest.partition(end)
    if not (found_begin and found_end):
        raise CorpusError(f"the page lacks {begin} or {end}")
    return f"{head}{begin}\n{text.strip()}\n{end}{tail}"


def refresh(page: Path, name: str, text: str) -> None:
    """Write `text` between the markers of a page."""
    page.write_text(between_markers(page.read_text(encoding="utf-8"), name, text), encoding="utf-8")


def check(page: Path, name: str, text: str, command: str) -> int:
    """The exit code of asking whether `text` stands between the markers of a page; if not, `command` is named."""
    there = page.read_text(encoding="utf-8")
    stale = there != between_markers(there, name, text)
    if stale:
        print(f"{page} is stale: run `{command}`", file=sys.stderr)
    return int(stale)


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in [header, rule, *rows])


def columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for a terminal: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return "\n".join(
        "  ".join([first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))])
        for first, *rest in [header, *rows]
    )


def render(
    releases: Sequence[Release], snapshot: Sequence[Finding], judged: Mapping[str, Verdict], rules: Sequence[str] = ()
) -> str:
    """Precision per rule of all, and per rule and release of each set, with the findings that were not judged true.

    Those of the `rules` that found nothing are named.
    """
    heard = {finding.code for finding in snapshot}
    silent = [code for code in rules if code not in heard]
    sections = ["### All releases", _per_rule(snapshot, judged)] if snapshot else []
    if snapshot and silent:
        sections.append(f"Without a finding here, so that their precision is not measured: {', '.join(silent)}.")
    for name in SETS:
        chosen = [release for release in releases if release.set == name]
        labels = {release.label for release in chosen}
        findings = [finding for finding in snapshot if finding.label in labels]
        if chosen and not findings:
            sections += [f"### {SET_TITLES[name]}", "No findings are stored for this set."]
        elif chosen:
            sections += [f"### {SET_TITLES[name]}", _per_rule(findings, judged), _per_release(chosen, findings, judged)]
            sections += _exceptions(findings, judged)
    return "\n\n".join(sections)


def render_drawn(drawn: Sequence[Drawn], judged: Mapping[str, Verdict]) -> str:
    """Precision per rule of a sample, beside how many findings it was drawn from."""
    findings = [each.finding for each in drawn]
    among = {each.finding.code: each.among for each in drawn}
    rows = [
        [code, among[code], *_cells(tally([f for f in findings if f.code == code], judged))] for code in sorted(among)
    ]
    total = ["**all**", sum(among.values()), *_cells(tally(findings, judged))]
    table = markdown(("rule", "findings", "drawn", *COUNTS[1:]), [*rows, total])
    return "\n\n".join([table, *_exceptions(findings, judged)])


def _per_rule(findings: Sequence[Finding], judged: Mapping[str, Verdict]) -> str:
    codes = sorted({finding.code for finding in findings})
    rows = [[code, *_cells(tally([f for f in findings if f.code == code], judged))] for code in codes]
    return markdown(("rule", *COUNTS), [*rows, ["**all**", *_cells(tally(findings, judged))]])


def _per_release(releases: Sequence[Release], findings: Sequence[Finding], judged: Mapping[str, Verdict]) -> str:
    rows = []
    for release in releases:
        own = [finding for finding in findings if finding.label == release.label]
        rows.append([f"{release.name} {release.version}", f"{release.lines:,}", *_cells(tally(own, judged))])
    total = sum(release.lines for release in releases)
    rows.append(["**all**", f"{total:,}", *_cells(tally(findings, judged))])
    return markdown(("release", "lines", *COUNTS), rows)


def _exceptions(findings: Iterable[Finding], judged: Mapping[str, Verdict]) -> list[str]:
    lines = [
        f"- {finding.code} {finding.label} `{finding.path}:{finding.row}`, {verdict.verdict}: {verdict.reason}"
        for finding in findings
        if (verdict := judged.get(finding.key)) and verdict.verdict != "true"
    ]
    return ["Judged harmless or false:\n\n" + "\n".join(lines)] if lines else []


def _cells(counts: Tally) -> list[object]:
    return [
        counts.findings,
        counts.true,
        counts.harmless,
        counts.false,
        counts.unjudged,
        counts.consequential,
        counts.precision,
    ]
