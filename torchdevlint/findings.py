"""What the rules report becomes findings: with their files, severities and cells, and without what is suppressed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from torchdevlint import discover, rules, select
from torchdevlint.config import Settings
from torchdevlint.flow.facts.common import Fact
from torchdevlint.joined import joined, key
from torchdevlint.model import Diagnostic, FileResult, Fix, Note, Problem, Related, Report, Severity
from torchdevlint.patterns import regex
from torchdevlint.project.of_tests import is_of_tests
from torchdevlint.project.uses import shown
from torchdevlint.source.notebook import Content
from torchdevlint.suppress import Suppressions, find_invalid, find_unused

_NEWLINE = regex(r"\r\n?|\n")

Reports = tuple[list[tuple[str, Report]], list[Problem]]
"""Reports by the codes of their rules, and a problem for each rule that raised."""


def judged(facts: Iterable[Fact], filename: str, codes: frozenset[str]) -> Reports:
    """The reports on what lies in the file itself, by code, and a problem for each rule that raised."""
    reports: list[tuple[str, Report]] = []
    problems: dict[str, Problem] = {}
    for fact in facts:
        for rule in rules.subscribers(codes, type(fact)):
            try:
                found = (_of_fact(each, fact) for each in rule.check(fact) if not each.span.file)
                reports += [(rule.code, each) for each in found]
            except Exception as error:  # noqa: BLE001 (the other rules still run)
                problems.setdefault(rule.code, of_rule(rule, filename, error))
    return reports, list(problems.values())


def _of_fact(report: Report, fact: Fact) -> Report:
    severity = Severity.ADVICE if fact.hurts_nobody else report.severity
    return replace(report, cause=fact.shared, severity=severity)


def of_rule(rule: rules.Identity, filename: str, error: Exception) -> Problem:
    """What is said of a rule that raised; the others have run all the same."""
    return Problem(filename, f"internal error in rule {rule.code} ({rule.name}): {describe(error)}", rule.code)


def of_reports(
    reports: Iterable[tuple[str, Report]],
    content: Content,
    filename: str,
    settings: Settings,
    codes: frozenset[str],
    suppressions: Suppressions,
    problems: Sequence[Problem] = (),
    ran: frozenset[str] = frozenset(),
) -> FileResult:
    """Reports become findings: suppressions, then what is to be said of the suppressions.

    `ran` are the codes of the rules that ran on all of the file; only suppressions of those can be unused.
    """
    severities = select.severities(settings)
    reports = list(reports)
    lines = _NEWLINE.split(content.text) if reports else []
    in_tests = is_of_tests(discover.relative(filename, settings), content.text)
    whole = ((code, replace(each, fix=_keeping_comments(each.fix, lines))) for code, each in reports)
    graded = [(code, _graded(each, in_tests)) for code, each in whole]
    invalid = list(find_invalid(suppressions)) if ran else []
    wrong, amiss = judged(invalid, filename, codes) if invalid else ([], [])
    graded += wrong
    diagnostics = [_diagnostic(*each, filename, suppressions, severities) for each in graded]
    unasked = {
        diagnostic
        for (code, report), diagnostic in zip(graded, diagnostics, strict=True)
        if report.severity is Severity.ADVICE and not select.is_asked_for(settings, code)
    }
    crashed = {problem.rule for problem in problems}
    behind = set(suppressions.behind_file_noqa(diagnostics)) - unasked
    silenced = len({key(each) for each in behind})
    kept, used = suppressions.apply(diagnostics)
    unused = list(find_unused(suppressions, ran - crashed, used))
    more, further = judged(unused, filename, codes) if unused else ([], [])
    diagnostics += [_diagnostic(*each, filename, suppressions, severities) for each in more]
    kept += suppressions.apply(diagnostics[len(graded) :])[0]
    first = {(each.code, each.span): each for each in reversed(diagnostics) if each not in unasked}
    placed = {each: content.notebook.in_cells(each) if content.notebook else each for each in first.values()}
    ordered = joined(placed.values(), {placed[each] for each in kept if each in placed})
    said = sorted({*problems, *amiss, *further}, key=lambda problem: problem.rule or "")
    unread = any(each.code == "TDL901" for each in unasked)
    advice = sorted(each.code for each in unasked.intersection(kept) if not _is_advice(each.code))
    return FileResult(filename, tuple(ordered), tuple(said), silenced, unread, tuple(advice))


def _is_advice(code: str) -> bool:
    """Whether a rule is off by default, or says what could not be looked at."""
    return rules.identified()[code].severity is Severity.ADVICE or code == "TDL901"


def _graded(report: Report, in_tests: bool) -> Report:
    """The report as severe as it is in this file; one that is advice, although its rule is not, is for who asks."""
    return replace(report, severity=Severity.ADVICE) if in_tests and report.advice_in_tests else report


def _diagnostic(
    code: str, report: Report, filename: str, suppressions: Suppressions, severities: Mapping[str, Severity]
) -> Diagnostic:
    rule = rules.identified()[code]
    return Diagnostic(
        filename=filename,
        span=report.span,
        code=rule.code,
        name=rule.name,
        message=report.message,
        severity=severities.get(rule.code) or report.severity or rule.severity,
        symptom=report.symptom,
        help=report.help,
        url=rule.url,
        noqa_row=suppressions.noqa_row(report.span.row),
        related=tuple(_related(note, filename) for note in report.notes),
        fix=report.fix,
        cause=report.cause,
    )


def _keeping_comments(fix: Fix | None, lines: Sequence[str]) -> Fix | None:
    """The fix, or None where it would lose a comment, which stands at the end of a line inside of what it replaces."""
    for span in () if fix is None else (each.span for each in fix.edits if each.span.row < each.span.end_row):
        rows = [lines[span.row - 1][span.column - 1 :], *lines[span.row : span.end_row - 1]]
        written = "".join(each.content for each in fix.edits)  # type: ignore[union-attr]
        if any("#" in row and row[row.index("#") :].rstrip() not in written for row in rows):
            return None
    return fix


def _related(note: Note, filename: str) -> Related:
    span = note.span
    if not span.file:
        return Related(note.message, filename, span)
    return Related(note.message, shown(span.file, filename), replace(span, file=""))


def describe(error: Exception) -> str:
    """One line for a bug report: what was raised, and where."""
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" ({Path(frame.filename).name}:{frame.lineno})" for frame in last)
    return f"{type(error).__name__}: {error}{place}"
