"""What fixes make of a text: plain text in, plain text out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdevlint.model import Fix, Span
from torchdevlint.patterns import regex

_NEWLINE = regex(r"\r\n?|\n")

_Place = tuple[int, int]
"""Offsets in the text: the first one that is replaced, and the one after the last."""


def splice(text: str, fixes: Sequence[Fix]) -> tuple[str, tuple[Fix, ...]]:
    """`text` with as many of `fixes` as fit beside each other, in their order of preference, and which those are.

    The edits of a fix are made all or not at all. Two fixes that touch the same place exclude each other, unless both
    make the very same edit there: that is made once. New lines end as the first line of the text does.
    """
    starts, newline = _line_starts(text), _newline(text)
    made: dict[_Place, str] = {}
    accepted: list[Fix] = []
    for fix in fixes:
        edits = {_place(edit.span, starts): _NEWLINE.sub(newline, edit.content) for edit in fix.edits}
        new = {place: content for place, content in edits.items() if made.get(place) != content}
        if not any(_touch(place, other) for place in new for other in made):
            made.update(new)
            accepted.append(fix)
    return "".join(_pieces(text, sorted(made.items()))), tuple(accepted)


def _pieces(text: str, edits: Sequence[tuple[_Place, str]]) -> Iterator[str]:
    done = 0
    for (start, end), content in edits:
        yield text[done:start]
        yield content
        done = end
    yield text[done:]


def _touch(one: _Place, other: _Place) -> bool:
    """Whether two places overlap, or an insertion is at the edge of the other."""
    if one[0] == one[1] or other[0] == other[1]:
        return one[0] <= other[1] and other[0] <= one[1]
    return one[0] < other[1] and other[0] < one[1]


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _NEWLINE.finditer(text))]


def _place(span: Span, starts: list[int]) -> _Place:
    return starts[span.row - 1] + span.column - 1, starts[span.end_row - 1] + span.end_column - 1


def _newline(text: str) -> str:
    found = _NEWLINE.search(text)
    return found[0] if found is not None else "\n"
