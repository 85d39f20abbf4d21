"""Failures become bugs: one for each cause, with the rule of the linter that sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from torchdevlint.config import ConfigError, Settings, load
from torchdevlint.model import Diagnostic, Severity
from torchdevlint.runtime.hunt.findings import BUG, Bug, Failure, Hunted, Place, Rule


def bugs_of(hunted: Sequence[Hunted]) -> tuple[Bug, ...]:
    """The bugs, sorted by where they are raised."""
    groups: dict[tuple[object, ...], list[Failure]] = {}
    for one in hunted:
        for failure in one.failures:
            if failure.sort == BUG:
                groups.setdefault(failure.key, []).append(failure)
    found = [_bug(group) for group in groups.values()]
    return tuple(sorted(found, key=lambda bug: _order(bug.failure)))


def _order(failure: Failure) -> tuple[object, ...]:
    raised = failure.raised or Place("", 0)
    return (raised.filename, raised.line, failure.target, failure.mode)


def _bug(group: Sequence[Failure]) -> Bug:
    first, *others = sorted(group, key=lambda failure: (len(failure.script), failure.target, failure.mode))
    reached = dict.fromkeys(
        (one.target.name, one.mode) for one in sorted(others, key=lambda one: (one.target, one.mode))
    )
    return Bug(first, tuple(reached), _rule(first))


def _rule(failure: Failure) -> Rule | None:
    """The linter's finding that starts at, or else tells of, where the operand was made or the error was raised."""
    places = [place for place in (failure.origin, failure.raised) if place is not None]
    for covers in (_starts_at, _tells_of):
        for place in places:
            for diagnostic in _checked(place.filename):
                if covers(diagnostic, place):
                    return Rule(diagnostic.code, diagnostic.name, diagnostic.filename, diagnostic.span.row)
    return None


def _starts_at(diagnostic: Diagnostic, place: Place) -> bool:
    return diagnostic.span.row <= place.line <= diagnostic.span.end_row


def _tells_of(diagnostic: Diagnostic, place: Place) -> bool:
    return any(row <= place.line <= end for row, end in _related(diagnostic, place.filename))


def _related(diagnostic: Diagnostic, filename: str) -> Iterator[tuple[int, int]]:
    for one in diagnostic.related:
        if one.filename == filename:
            yield one.span.row, one.span.end_row


@cache
def _checked(file: str) -> tuple[Diagnostic, ...]:
    """All that the linter finds in a file, advice left out."""
    from msgspec.structs import replace

    from torchdevlint.engine import check_file

    if not Path(file).is_file():
        return ()
    try:
        settings = load(Path(file))
    except (ConfigError, OSError):
        settings = Settings()
    found = check_file(file, replace(settings, preview=True)).diagnostics
    return tuple(one for one in found if one.severity is not Severity.ADVICE and not one.code.startswith("TDL9"))
