"""What a comment asks for: the beliefs of a row as facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from torchdevlint.flow.facts.files import RevealedValue
from torchdevlint.flow.recording import Recording
from torchdevlint.flow.telling.beliefs import Teller
from torchdevlint.model import Belief, Span


def revealed(recording: Recording, rows: Iterable[int]) -> Iterator[RevealedValue]:
    """What is believed of rows with comments; a comment that stands alone asks for the next row of code."""
    teller = Teller(recording)
    lines = teller.source.lines
    for row in rows:
        asked = _with_code(row, lines)
        found = list(teller.in_row(asked)) or list(teller.in_row(teller.first_row(asked)))
        yield from map(_fact, found)
        if not found:
            column = lines[row - 1].find("#") + 1
            yield RevealedValue(Span(row, column, row, len(lines[row - 1]) + 1), "")


def _with_code(row: int, lines: Sequence[str]) -> int:
    """The row, or where it holds nothing but a comment, the next one that holds more."""
    behind = range(row, len(lines) + 1)
    return next((each for each in behind if lines[each - 1].partition("#")[0].strip()), row)


def _fact(belief: Belief) -> RevealedValue:
    because = belief.unknown_because
    cases = tuple((each.when, each.description) for each in belief.alternatives)
    notes = {note: None for each in (belief, *belief.alternatives) for note in each.notes}
    reason = "" if because is None else because.message
    return RevealedValue(belief.span, belief.text, belief.description, cases, reason, tuple(notes))
