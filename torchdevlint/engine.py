"""The one place that orders the stages: bytes, text, tree, facts, reports, diagnostics, suppression.

Whatever a file holds, checking it gives a `FileResult` and never raises: what is wrong with the file is a finding, what
kept the tool from its job is a `Problem`.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from torchdevlint import rules, select, suppress
from torchdevlint.config import Settings
from torchdevlint.flow.analyse import analyse
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.files import InvalidSyntax
from torchdevlint.model import Diagnostic, FileResult, Note, Problem, Related, Report, Severity, Span
from torchdevlint.project.modules import Library
from torchdevlint.project.uses import around
from torchdevlint.rules import Rule
from torchdevlint.source.gate import may_hold_findings
from torchdevlint.source.text import Source, UndecodableError, decode
from torchdevlint.suppress import Suppressions
from torchdevlint.syntax.errors import InvalidSyntaxError, TooDeepError
from torchdevlint.syntax.parse import parse

ITS_OWN = frozenset({"TDL900", "TDL901"})
"""Rules about suppressions and broken files, which inside flake8 are flake8's business."""
SMALL_FILES, SMALL_BYTES = 8, 400_000
"""Below either of these one process is done before a second one has started."""
_LIBRARY = Library()
TOO_DEEP = "too deeply nested to be analysed"


@dataclass(frozen=True)
class Run:
    """What linting several files gave: a result for each, in order of their names, and every problem."""

    results: tuple[FileResult, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All findings, sorted by file and place."""
        return tuple(chain.from_iterable(result.diagnostics for result in self.results))

    @property
    def files(self) -> int:
        return len(self.results)


def check_paths(
    files: Sequence[str], settings: Settings, jobs: int = 1, done: Callable[[], None] = lambda: None
) -> Run:
    """Check `files` in `jobs` processes (0: as many as the work is worth) and call `done` after each.

    The outcome does not depend on `jobs` nor on the order of `files`.
    """
    ordered = sorted(files)
    results = []
    with closing(_stream(ordered, settings, jobs or automatic_jobs(ordered))) as stream:
        for result in stream:
            results.append(result)
            done()
    return run_of(results)


def _stream(files: Sequence[str], settings: Settings, jobs: int) -> Generator[FileResult, None, None]:
    if jobs == 1:
        yield from (check_file(file, settings) for file in files)
        return
    from torchdevlint import pool

    yield from pool.each(partial(check_file, settings=settings), _lost, files, jobs)


def automatic_jobs(files: Sequence[str]) -> int:
    """One for little work, else the number of CPUs that this process may use."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cpus == 1 or len(files) < SMALL_FILES:
        return 1
    total = 0
    for file in files:
        try:
            total += Path(file).stat().st_size
        except OSError:
            continue
        if total >= SMALL_BYTES:
            return cpus
    return 1


def run_of(results: Sequence[FileResult], problems: Sequence[Problem] = ()) -> Run:
    """A run of these results, with problems of its own before those of the files."""
    return Run(tuple(results), (*problems, *chain.from_iterable(result.problems for result in results)))


def check_file(filename: str, settings: Settings) -> FileResult:
    """Check one file of the file system."""
    try:
        data = Path(filename).read_bytes()
    except FileNotFoundError:
        return _failed(filename, "the file has vanished")
    except OSError as error:
        return _failed(filename, f"cannot be read: {error.strerror or error}")
    return check_bytes(data, filename, settings)


def check_bytes(data: bytes, filename: str, settings: Settings) -> FileResult:
    """Check a file whose content is at hand; `filename` need not exist."""
    try:
        return _check_bytes(data, filename, settings)
    except Exception as error:  # noqa: BLE001 (one file must not end the run)
        return _failed(filename, f"internal error: {_describe(error)}")


def _check_bytes(data: bytes, filename: str, settings: Settings) -> FileResult:
    try:
        text = decode(data)
        tree = parse(text)
    except UndecodableError as error:
        return _invalid(InvalidSyntax(Span(error.row, 1, error.row, 1), error.reason), "", filename, settings)
    except InvalidSyntaxError as error:
        at = Span(error.row, error.column, error.row, error.column)
        return _invalid(InvalidSyntax(at, error.reason), text, filename, settings)
    except (TooDeepError, RecursionError, MemoryError):
        return _failed(filename, TOO_DEEP)
    if not may_hold_findings(data):
        return FileResult(filename)
    return check_tree(tree, Source(text), filename, settings)


def check_tree(tree: ast.Module, source: Source, filename: str, settings: Settings, flake8: bool = False) -> FileResult:
    """Check a file that is already parsed; if it is on disk, the other files of its project are looked into as needed.

    With `flake8`, selection and ``# noqa`` are left to flake8, and TDL900 and TDL901 are not given.
    """
    source.tree = tree
    if flake8:
        codes = frozenset(rule.code for rule in rules.all_rules() if settings.preview or not rule.preview) - ITS_OWN
    else:
        codes = frozenset(select.selected_for(settings, filename))
    try:
        facts = analyse(tree, source, settings, rules.facts_of(codes), around(filename, _LIBRARY))
    except (RecursionError, MemoryError):
        return _failed(filename, TOO_DEEP)
    except Exception as error:  # noqa: BLE001 (one file must not end the run)
        return _failed(filename, f"internal error in the inference: {_describe(error)}")
    found = _Findings(filename, suppress.read(source.text, noqa=not flake8), select.severities(settings), codes)
    return _result(found, facts, codes)


def _invalid(fact: InvalidSyntax, text: str, filename: str, settings: Settings) -> FileResult:
    """The result of a file that no other rule could look at, so that no suppression can be called unused."""
    codes = frozenset(select.selected_for(settings, filename))
    found = _Findings(filename, suppress.read(text), select.severities(settings), codes)
    return _result(found, [fact], frozenset())


def _result(found: _Findings, facts: Iterable[Fact], ran: frozenset[str]) -> FileResult:
    """Rules, then suppressions, then what is to be said of the suppressions."""
    diagnostics, problems = found.of(facts)
    crashed = {problem.rule for problem in problems}
    kept, unused = found.suppressions.apply(diagnostics, ran - crashed)
    more, further = found.of(unused)
    kept += found.suppressions.apply(more)[0]
    first = {(each.code, each.span): each for each in reversed(kept)}
    ordered = sorted(first.values(), key=lambda diagnostic: diagnostic.sort_key)
    problems = sorted({*problems, *further}, key=lambda problem: problem.rule or "")
    return FileResult(found.filename, tuple(ordered), tuple(problems))


@dataclass(frozen=True)
class _Findings:
    """What turns the facts of one file into diagnostics; `codes` are those of the rules that run on it."""

    filename: str
    suppressions: Suppressions
    severities: Mapping[str, Severity]
    codes: frozenset[str]

    def of(self, facts: Iterable[Fact]) -> tuple[list[Diagnostic], list[Problem]]:
        """The findings of every rule that runs, and a problem for each rule that raised."""
        diagnostics: list[Diagnostic] = []
        problems: dict[str, Problem] = {}
        subscribers = rules.by_fact()
        for fact in facts:
            for rule in subscribers.get(type(fact), ()):
                if rule.code not in self.codes:
                    continue
                try:
                    diagnostics += [self._diagnostic(rule, each) for each in rule.check(fact) if not each.span.file]
                except Exception as error:  # noqa: BLE001 (the other rules still run)
                    message = f"internal error in rule {rule.code} ({rule.name}): {_describe(error)}"
                    problems.setdefault(rule.code, Problem(self.filename, message, rule.code))
        return diagnostics, list(problems.values())

    def _diagnostic(self, rule: Rule, report: Report) -> Diagnostic:
        return Diagnostic(
            filename=self.filename,
            span=report.span,
            code=rule.code,
            name=rule.name,
            message=report.message,
            severity=self.severities.get(rule.code) or report.severity or rule.severity,
            symptom=report.symptom,
            help=report.help,
            url=rule.url,
            noqa_row=self.suppressions.noqa_row(report.span.row),
            related=tuple(self._related(note) for note in report.notes),
            fix=report.fix,
        )

    def _related(self, note: Note) -> Related:
        span = note.span
        return Related(note.message, span.file or self.filename, replace(span, file="") if span.file else span)


def _failed(filename: str, message: str) -> FileResult:
    return FileResult(filename, problems=(Problem(filename, message),))


def _lost(filename: str) -> FileResult:
    return _failed(filename, "the process that analysed this file died")


def _describe(error: Exception) -> str:
    """One line for a bug report: what was raised, and where."""
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" ({Path(frame.filename).name}:{frame.lineno})" for frame in last)
    return f"{type(error).__name__}: {error}{place}"
