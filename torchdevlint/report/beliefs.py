"""What is believed of expressions, for people and for programs: a code frame with what is known below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from torchdevlint.model import Belief, Note, Span
from torchdevlint.report.frame import Mark, frame
from torchdevlint.report.places import whole
from torchdevlint.report.terminal import escape, one_line, paint, wrap


def sentence(belief: Belief) -> str:
    """A belief in one line: what it is of, and what is known."""
    text = " ".join(belief.text.split())
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}...{text[-_LONGEST // 2 + 3 :]}"
    return f"`{shown}`: {belief.description}"


_LONGEST = 60


def render(beliefs: Sequence[Belief], filename: str, lines: Sequence[str], width: int | None, color: bool) -> str:
    """Each belief as findings are shown: what, where, the code with its history, and the facts."""
    return "\n".join("".join(f"{line}\n" for line in _shown(each, filename, lines, width, color)) for each in beliefs)


def _shown(belief: Belief, filename: str, lines: Sequence[str], width: int | None, color: bool) -> Iterator[str]:
    near = [note for note in _places(belief) if not note.span.file]
    numbers = [belief.span.end_row + 2, *(note.span.row for note in near)]
    gutter = max(2, len(str(max(numbers))))
    margin = " " * gutter
    heading = list(wrap(one_line(sentence(belief)), "", "  ", width))
    yield from (paint(line, "strong", color) for line in heading)
    cell = f":cell {belief.cell}" if belief.cell else ""
    yield f"{margin}{paint('--> ', 'line', color)}{escape(filename)}{cell}:{belief.span.row}:{belief.span.column}"
    own = [escape(note.message) for note in near if note.span == belief.span]
    marks = [Mark(belief.span, "; ".join(own), "advice", primary=True)]
    marks += [Mark(note.span, escape(note.message), "line") for note in near if note.span != belief.span]
    yield from frame(lines, marks, width, color, gutter)
    yield margin + paint(" |", "line", color)
    for title, text in _facts(belief):
        first = f"{margin} = {title}: "
        painted = f"{margin} {paint('=', 'line', color)} {paint(title, 'strong', color)}: "
        wrapped = list(wrap(one_line(text), first, " " * len(first), width))
        yield painted + wrapped[0][len(first) :]
        yield from wrapped[1:]


def _places(belief: Belief) -> Iterator[Note]:
    """Where it was made and moved, each once, and where the knowledge ended."""
    notes = {note: None for each in (belief, *belief.alternatives) for note in each.notes}
    yield from notes
    because = belief.unknown_because
    if because is not None and because.span != belief.span:
        yield Note("here the knowledge ends", because.span)


def _facts(belief: Belief) -> Iterator[tuple[str, str]]:
    yield "kind", belief.kind
    if belief.device is not None:
        yield "device", belief.device
    if belief.dimensions is not None:
        yield "dimensions", belief.dimensions
    if belief.when:
        yield "where", belief.when
    for note in belief.notes:
        if note.span.file:
            yield "history", f"{note.message} ({note.span.file}:{note.span.row})"
    for each in belief.alternatives:
        yield (each.when or "or"), each.description
    if belief.unknown_because is not None:
        yield "unknown because", belief.unknown_because.message


def to_dict(belief: Belief, filename: str) -> dict[str, Any]:
    """One belief as JSON has it; rows and columns as findings have them."""
    because = belief.unknown_because
    return {
        "filename": whole(filename),
        "cell": belief.cell,
        **_span(belief.span),
        "text": whole(belief.text),
        **_said(belief),
        "assigned": belief.assigned,
        "alternatives": [{"when": each.when, **_said(each)} for each in belief.alternatives],
        "unknown_because": None if because is None else _note(because, filename),
        "history": [_note(note, filename) for note in belief.notes],
    }


def _said(belief: Belief) -> dict[str, Any]:
    return {
        "kind": belief.kind,
        "description": whole(belief.description),
        "device": None if belief.device is None else whole(belief.device),
        "dimensions": belief.dimensions,
        "where": whole(belief.when),
    }


def _note(note: Note, filename: str) -> dict[str, Any]:
    return {"message": whole(note.message), "filename": whole(note.span.file or filename), **_span(note.span)}


def _span(span: Span) -> dict[str, Any]:
    return {
        "location": {"row": span.row, "column": span.column},
        "end_location": {"row": span.end_row, "column": span.end_column},
    }
