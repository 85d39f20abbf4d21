"""The last words of a text report, and the table of ``--statistics``."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from torchdevlint.model import Diagnostic, Severity
from torchdevlint.report.terminal import escape, name, paint

if TYPE_CHECKING:
    from torchdevlint.model import Run
    from torchdevlint.report import Look

_NOUNS = {
    Severity.ERROR: ("error", "errors"),
    Severity.WARNING: ("warning", "warnings"),
    Severity.ADVICE: ("piece of advice", "pieces of advice"),
}


_MANY, _FIRST = 10, 3
"""So many findings that are alike are counted together, with so many of their places."""


def summary(run: Run, look: Look) -> str:
    """``Found 2 errors and 1 warning.``, or what can honestly be said when nothing was found."""
    return "" if look.quiet else _found(run, look) + _unasked(run, look) + _silenced(run, look) + _unread(run, look)


def _found(run: Run, look: Look) -> str:
    checked = f" ({count(run.files, 'file', 'files')} checked)" if look.verbose else ""
    found = Counter(diagnostic.severity for diagnostic in run.diagnostics)
    if found:
        parts = [count(found[severity], *_NOUNS[severity]) for severity in Severity if found[severity]]
        left = f" left, and fixed {look.fixed:,}" if look.fixed else ""
        return f"Found {enumerate_words(parts)}{left}{checked}.\n{_alike(run)}{_fixable(run, look)}"
    if look.fixed:
        return f"Fixed {count(look.fixed, 'finding', 'findings')}; none is left{checked}.\n"
    if run.problems:
        return f"Found nothing in what could be checked{checked}.\n"
    if not run.files:
        return "No Python files were found here.\n"
    return paint("No findings.", "good", look.color) + f"{checked}\n"


def _alike(run: Run) -> str:
    """The findings that one rule says in the same words in many places, most first, and where the first of them are."""
    groups: dict[tuple[str, str], list[Diagnostic]] = {}
    for diagnostic in run.diagnostics:
        groups.setdefault((diagnostic.code, diagnostic.message.removesuffix(diagnostic.also)), []).append(diagnostic)
    many = sorted((each for each in groups.items() if len(each[1]) >= _MANY), key=lambda each: -len(each[1]))
    return "".join(f"{_counted(message, alike)}\n" for (_, message), alike in many)


def _counted(message: str, alike: list[Diagnostic]) -> str:
    first = alike[0]
    places = ", ".join(f"{escape(each.filename)} {each.line}" for each in alike[:_FIRST])
    return f"{len(alike):,} are alike: {first.code} {escape(message)}\n  in {places}, ..."


def _unasked(run: Run, look: Look) -> str:
    """What is advice here although its rule is not is counted: it holds, but nothing shows that it hurts anybody."""
    said = ""
    for code in sorted({code for result in run.results for code in result.unasked}):
        found = {result.filename: number for result in run.results if (number := result.unasked.count(code))}
        findings = count(sum(found.values()), "more finding", "more findings")
        hurt = f"{findings} of {code} can hardly hurt anybody; `--extend-select {code}` shows what is left out.\n"
        named = (f"  {name(filename)} ({number:,})\n" for filename, number in found.items())
        said += hurt + "".join(named if look.verbose else ())
    return said


def _silenced(run: Run, look: Look) -> str:
    """What a ``# flake8: noqa`` silences is counted, since one anywhere in a file takes all of the file out."""
    silenced = {result.filename: result.silenced for result in run.results if result.silenced}
    if not silenced:
        return ""
    findings = count(sum(silenced.values()), "finding", "findings")
    files = count(len(silenced), "file", "files")
    said = f"`# flake8: noqa` silences {findings} in {files}; `--ignore-noqa` shows what it silences.\n"
    named = (f"  {name(filename)} ({number:,})\n" for filename, number in silenced.items())
    return said + "".join(named if look.verbose else ())


def _unread(run: Run, look: Look) -> str:
    """Files that no Python of today has to run are counted, since a run that has not read them would look clean."""
    unread = [result.filename for result in run.results if result.unread]
    if not unread:
        return ""
    said = f"{count(len(unread), 'file', 'files')} could not be checked, which no Python of today has to run.\n"
    return said + "".join(f"  {name(each)}\n" for each in unread if look.verbose)


def _fixable(run: Run, look: Look) -> str:
    """How many findings could be fixed, and with which flag."""
    fixable = sum(map(look.is_fixable, run.diagnostics))
    if not fixable:
        hidden = count(look.hidden, "unsafe fix", "unsafe fixes")
        return f"{hidden} can be enabled with `--unsafe-fixes`.\n" if look.hidden else ""
    more = f" ({look.hidden:,} more with `--unsafe-fixes`)" if look.hidden else ""
    return f"[*] {fixable:,} fixable with `--fix`{more}.\n"


def count(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def enumerate_words(words: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def statistics(run: Run, output_format: str) -> str:
    """How often each rule was hit, most often first, as a table or, for the json formats, as objects."""
    severities = {(d.code, d.name): d.severity.value for d in run.diagnostics}
    hits = Counter((d.code, d.name) for d in run.diagnostics)
    ranked = sorted(hits.items(), key=lambda item: (-item[1], item[0]))
    if output_format in ("json", "json-lines"):
        rows = [
            {"code": code, "name": name, "severity": severities[code, name], "count": hit}
            for (code, name), hit in ranked
        ]
        if output_format == "json":
            return json.dumps(rows, indent=2) + "\n"
        return "".join(f"{json.dumps(row)}\n" for row in rows)
    column = max((len(str(hit)) for hit in hits.values()), default=0)
    return "".join(f"{hit:>{column}}  {code}  {name}\n" for (code, name), hit in ranked)
