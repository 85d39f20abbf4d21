"""Places in a text as the protocol counts them: lines and characters from 0, characters in the client's encoding."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol.types import Position, Range
from msgspec import Struct

from torchdevlint.model import Span

UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""For each encoding of positions: how text is encoded, and the bytes in one of its units."""


class Places(Struct, frozen=True):
    """The rows of a text, without their line endings, and the encoding in which positions are counted."""

    lines: Sequence[str]
    encoding: str = "utf-16"

    def position(self, row: int, column: int) -> Position:
        """A place, of which row and column count from 1; one that is not in the text is the nearest that is."""
        if row > len(self.lines):
            row, column = max(len(self.lines), 1), len(self.lines[-1]) + 1 if self.lines else 1
        before = self.lines[row - 1][: column - 1] if self.lines else ""
        codec, size = UNITS[self.encoding]
        return Position(row - 1, len(before.encode(codec, "surrogatepass")) // size)

    def range(self, span: Span) -> Range:
        return Range(self.position(span.row, span.column), self.position(span.end_row, span.end_column))


def touches(one: Range, other: Range) -> bool:
    """Whether two ranges have a place in common; their ends count."""
    return _pair(one.start) <= _pair(other.end) and _pair(other.start) <= _pair(one.end)


def _pair(position: Position) -> tuple[int, int]:
    return position.line, position.character
