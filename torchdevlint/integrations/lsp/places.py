"""Places in a text as the protocol counts them: lines and characters from 0, characters in the client's encoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lsprotocol.types import Position, Range
from msgspec import Struct

from torchdevlint.model import Span
from torchdevlint.patterns import regex

UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""For each encoding of positions: how text is encoded, and the bytes in one of its units."""

_ROW_END = regex(r"(?<=\n)|(?<=\r)(?!\n)")


class Places(Struct, frozen=True):
    """The rows of a text, and the encoding in which positions are counted. Line endings may be part of the rows."""

    lines: Sequence[str]
    encoding: str = "utf-16"

    def position(self, row: int, column: int) -> Position:
        """A place, of which row and column count from 1; one that is not in the text is the nearest that is."""
        if row > len(self.lines):
            row, column = max(len(self.lines), 1), len(self.lines[-1]) + 1 if self.lines else 1
        before = self.lines[row - 1][: column - 1] if self.lines else ""
        return Position(row - 1, _units(before, self.encoding))

    def place(self, position: Position) -> tuple[int, int]:
        """The row and the column, from 1, of a position; of one that is not in the text those of the nearest that is.

        A position within a character is that of the character.
        """
        if position.line >= len(self.lines):
            return len(self.lines), len(self.lines[-1].rstrip("\r\n")) + 1 if self.lines else 1
        line = self.lines[position.line].rstrip("\r\n")
        if line.isascii():
            return position.line + 1, min(position.character, len(line)) + 1
        units = 0
        for index, character in enumerate(line):
            units += _units(character, self.encoding)
            if units > position.character:
                return position.line + 1, index + 1
        return position.line + 1, len(line) + 1

    def range(self, span: Span) -> Range:
        return Range(self.position(span.row, span.column), self.position(span.end_row, span.end_column))


def rows_of(text: str) -> tuple[str, ...]:
    r"""The rows of a text with their line endings, of which there are three: ``\r\n``, ``\n`` and ``\r``.

    The last one has none, and may be empty, so that the rows are those that an editor shows.
    """
    return tuple(_ROW_END.split(text))


def moved(old: Sequence[str], new: Sequence[str]) -> Callable[[int], int | None]:
    """Where a row of an old text, from 1, is in a new one; None for those between the first and last that changed."""
    shorter = min(len(old), len(new))
    before = next((row for row in range(shorter) if old[row] != new[row]), shorter)
    behind = next((row for row in range(shorter - before) if old[-1 - row] != new[-1 - row]), shorter - before)

    def place(row: int) -> int | None:
        if row <= before:
            return row
        return row + len(new) - len(old) if row > len(old) - behind else None

    return place


def touches(one: Range, other: Range) -> bool:
    """Whether two ranges have a place in common; their ends count."""
    return _pair(one.start) <= _pair(other.end) and _pair(other.start) <= _pair(one.end)


def _pair(position: Position) -> tuple[int, int]:
    return position.line, position.character


def _units(text: str, encoding: str) -> int:
    codec, size = UNITS[encoding]
    return len(text.encode(codec, "surrogatepass")) // size
