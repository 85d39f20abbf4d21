"""What is known of a pasted error: its meaning, the line, what the linter finds and believes there, the likely "
"rules.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct, structs

from torchdevlint import rules
from torchdevlint.config import Settings
from torchdevlint.engine import check_bytes
from torchdevlint.explain import sources
from torchdevlint.explain.frames import Frame
from torchdevlint.explain.pasted import Pasted
from torchdevlint.explain.ranking import Likely, likely
from torchdevlint.explain.sources import Located
from torchdevlint.files import content
from torchdevlint.model import Belief, Diagnostic, Related, Span
from torchdevlint.patterns import regex
from torchdevlint.report import lines_of_file
from torchdevlint.source.python import module_of
from torchdevlint.source.text import UndecodableError
from torchdevlint.symptoms import Recognised
from torchdevlint.syntax.errors import InvalidSyntaxError, TooDeepError

FRAMES = 8
"""Frames of the user's that are looked at, from the innermost outwards."""
NEARBY = 5
"""Findings elsewhere in these files that are named."""
NOT_CAUSES = frozenset({"TDL900", "TDL901", "TDL902"})
_NAME = regex(r"[A-Za-z_]\w*(?:\.\w+|\[[^][]*\])*")
_PLACED = frozenset({"tensor", "module", "unknown", "container", "optimizer", "device"})


class Place(Struct, frozen=True):
    """A frame of the user's, and where that is here; None if its file is not to be had."""

    frame: Frame
    located: Located | None

    @property
    def span(self) -> Span | None:
        """The part of the line that Python has marked, or all of its code; None where the line is not to be had."""
        if self.located is None or self.located.row is None:
            return None
        row, line = self.located.row, lines_of_file(self.located.filename)[self.located.row - 1]
        indent = len(line) - len(line.lstrip())
        start, end = self.frame.mark or (0, len(line.strip()))
        first = min(indent + start, max(len(line) - 1, 0)) + 1
        return Span(row, first, row, max(min(indent + end, len(line)) + 1, first + 1))


class Answer(Struct, frozen=True, dict=True):
    """All that is said of one error.

    `place` is the innermost line of the user's. `findings` are those that cover a line of the traceback, or else are
    about an operand of that line, and are of a rule about such errors; `nearby` are further ones of these rules in the
    same files. `operands` are what is believed of the names in the line of `place`. `others` are the further errors of
    the text.
    """

    error: Pasted
    recognised: Recognised
    others: tuple[Pasted, ...] = ()
    place: Place | None = None
    findings: tuple[Diagnostic, ...] = ()
    nearby: tuple[Diagnostic, ...] = ()
    operands: tuple[Belief, ...] = ()

    @cached_property
    def likely(self) -> list[Likely]:
        """The rules that come into question; where the linter has found the cause, that of it comes first."""
        ordered = likely(self.error)
        found = dict.fromkeys(finding.code for finding in self.findings)
        return [
            *(Likely(code, "it is found here") for code in found),
            *(one for one in ordered if one.code not in found),
        ]

    @cached_property
    def span(self) -> Span | None:
        """The part of the line that Python has marked, or all of its code; None where the line is not to be had."""
        return None if self.place is None else self.place.span


def answered(error: Pasted, recognised: Recognised, others: Sequence[Pasted], root: Path, settings: Settings) -> Answer:
    """The answer for an error; its files are looked for at their paths and below `root`."""
    users = [frame for frame in reversed(error.frames) if frame.is_users][:FRAMES]
    places = [Place(frame, sources.located(frame, root)) for frame in users]
    codes = frozenset(recognised.symptom.rules)
    found = {file: _found(file, codes, settings) for file in dict.fromkeys(_files(places))}
    everything = [one for findings in found.values() for one in findings]
    answer = Answer(error, recognised, tuple(others), places[0] if places else None, _covering(places, everything))
    operands: tuple[Belief, ...] = ()
    if answer.place is not None and answer.place.located is not None and answer.span is not None:
        operands = _operands(answer.place.located.filename, answer.span, settings)
        if not answer.findings:
            answer = structs.replace(answer, findings=_of_operands(operands, answer.place, answer.span, everything))
    nearby = [one for one in everything if one not in answer.findings]
    return structs.replace(answer, nearby=tuple(nearby[:NEARBY]), operands=operands)


def _files(places: Sequence[Place]) -> Iterator[str]:
    return (place.located.filename for place in places if place.located is not None)


def _found(file: str, codes: frozenset[str], settings: Settings) -> list[Diagnostic]:
    """What `check` finds in a file by these rules, whether or not they are selected there or silenced."""
    known = tuple(sorted(codes & rules.by_code().keys()))
    wanted = structs.replace(settings, select=known, ignore=(), extend_select=(), preview=True, ignore_noqa=True)
    try:
        result = check_bytes(content(file), file, wanted)
    except OSError:
        return []
    return [one for one in result.diagnostics if one.code in codes and one.code not in NOT_CAUSES]


def _covering(places: Sequence[Place], everything: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings at the innermost line of the traceback that has any, those nearest to what is marked there first."""
    for place in places:
        span = place.span
        if place.located is None or span is None:
            continue
        filename = place.located.filename
        near = [
            (distance, at, one) for at, one in enumerate(everything) if (distance := _far(one, filename, span)) >= 0
        ]
        if near:
            return tuple(one for _, _, one in sorted(near, key=lambda each: each[:2]))
    return ()


def _far(diagnostic: Diagnostic, filename: str, span: Span) -> int:
    """How far, in letters, a finding or a place that it tells of is from a span in its row; -1 if none is there."""
    told = [one.span for one in diagnostic.related if _same_file(one, filename)]
    told += [diagnostic.span] if _same_file(diagnostic, filename) else []
    there = [one for one in told if one.row <= span.row <= one.end_row]
    return min((abs(one.column - span.column) + abs(one.end_column - span.end_column) for one in there), default=-1)


def _of_operands(
    operands: Sequence[Belief], place: Place, span: Span, everything: Sequence[Diagnostic]
) -> tuple[Diagnostic, ...]:
    """The findings above a line, in its function, that are about an operand of it: a move whose result is lost."""
    assert place.located is not None
    filename, lines = place.located.filename, lines_of_file(place.located.filename)
    names = tuple(f"{one.text}." for one in operands)
    first, last = _function(lines, span.row)
    return tuple(
        one
        for one in everything
        if _same_file(one, filename) and first <= one.span.row < min(span.row, last + 1)
        if names and lines[one.span.row - 1][one.span.column - 1 :].startswith(names)
    )


def _function(lines: Sequence[str], row: int) -> tuple[int, int]:
    """The first and the last row of the innermost function around a row, or of the file."""
    try:
        tree = module_of("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return row, row
    around = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= row <= (node.end_lineno or 0)
    ]
    return max(around, default=(1, len(lines)))


def _same_file(one: Diagnostic | Related, filename: str) -> bool:
    return Path(one.filename).resolve() == Path(filename).resolve()


def _operands(filename: str, span: Span, settings: Settings) -> tuple[Belief, ...]:
    """What is believed of the names in a line, or in the part of it that is marked."""
    from torchdevlint import beliefs

    try:
        believed = beliefs.of_bytes(content(filename), filename, settings).all
    except (OSError, UndecodableError, InvalidSyntaxError, TooDeepError, RecursionError):
        return ()
    inside = [
        one
        for one in believed
        if span.row == one.span.row and span.column <= one.span.column and one.span.end_column <= span.end_column
        if one.span.end_row == one.span.row and not one.assigned and one.kind in _PLACED and _NAME.fullmatch(one.text)
    ]
    outermost = [one for one in inside if not any(_is_part(one.span, other.span) for other in inside)]
    named = {one.text: one for one in reversed(outermost)}
    return tuple(sorted(named.values(), key=lambda one: one.span))


def _is_part(inner: Span, outer: Span) -> bool:
    return inner != outer and outer.column <= inner.column and inner.end_column <= outer.end_column
