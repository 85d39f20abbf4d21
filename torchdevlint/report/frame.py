"""Code frames: source lines with numbers, the marked places underlined, labels beside the underlines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from torchdevlint.model import Span
from torchdevlint.report.terminal import paint, visible, width

TAB = 4
CONTEXT = 2
"""Lines shown above and below the primary mark; the other marks bring only their own line."""
HEAD, TAIL = 4, 2
"""A span over more lines than both together is shown by its first and last ones."""
DEFAULT_COLUMNS = 160
"""Longer source lines are cut to this where there is no terminal to ask."""


class Mark(Struct, frozen=True):
    """A place to underline: with ``^`` and in the colour of `style` if it is primary, else with ``-``."""

    span: Span
    label: str
    style: str
    primary: bool = False


class _Line(Struct, frozen=True):
    """One source line as it is shown: text without its cut-off ends, and the cell at which each column starts.

    `skipped` columns before the first of `cells` were not looked at.
    """

    text: str
    cells: tuple[int, ...]
    skipped: int = 0

    def cell(self, column: int) -> int:
        """The cell of a 1-based column, at most the end of the line."""
        return self.cells[min(max(column - 1 - self.skipped, 0), len(self.cells) - 1)]


def frame(lines: Sequence[str], marks: Sequence[Mark], columns: int | None, color: bool, gutter: int) -> list[str]:
    """The lines of a frame around `marks`, of which at most one is primary; nothing if the file has no such line.

    `gutter` is the width of the line numbers.
    """
    marks = [_within(mark, lines) for mark in marks if mark.span.row <= len(lines)]
    if not marks:
        return []
    tall = next((mark for mark in marks if mark.primary and mark.span.end_row > mark.span.row), None)
    flat = [mark for mark in marks if mark is not tall]
    room = (columns or DEFAULT_COLUMNS) - gutter - 3 - (2 if tall else 0)
    blank = paint(f"{' ' * gutter} |", "line", color)
    out = [blank]
    bar = _Bar(tall, lines, color)
    previous = None
    for row in _rows(marks, lines):
        if previous is not None and row > previous + 1:
            out.append(paint("...", "line", color) + bar.across(row, gutter))
        previous = row
        here = [mark for mark in flat if mark.span.row == row]
        starts = [mark.span.column for mark in here]
        if tall and row in (tall.span.row, tall.span.end_row):
            starts.append(tall.span.column if row == tall.span.row else 1)
        line = _shown(lines[row - 1], starts, room)
        number = paint(f"{row:>{gutter}} |", "line", color)
        out.append(f"{number} {bar.beside(row)}{line.text}".rstrip())
        if tall and row == tall.span.row and not bar.starts_line:
            out.append(f"{blank} {bar.opening(line)}")
        out.extend(f"{blank} {bar.below(row)}{text}" for text in _underlines(line, here, color))
        if tall and row == tall.span.end_row:
            out.append(f"{blank} {bar.closing(line)}")
    return out


class _Bar(Struct, frozen=True):
    """The bracket at the left of a span over several lines; two cells, or none if there is no such span."""

    mark: Mark | None
    lines: Sequence[str]
    color: bool

    @property
    def starts_line(self) -> bool:
        """Whether only white space stands before the span, so that ``/`` says where it begins."""
        mark = self.mark
        return mark is not None and not self.lines[mark.span.row - 1][: mark.span.column - 1].strip()

    def beside(self, row: int) -> str:
        if self.mark is None:
            return ""
        span = self.mark.span
        if row == span.row:
            return self._paint("/ ") if self.starts_line else "  "
        return self._paint("| ") if span.row < row <= span.end_row else "  "

    def below(self, row: int) -> str:
        if self.mark is None:
            return ""
        return self._paint("| ") if self.mark.span.row <= row < self.mark.span.end_row else "  "

    def across(self, row: int, gutter: int) -> str:
        """The bracket beside a gap that ends before `row`."""
        if self.mark is None or not self.mark.span.row < row <= self.mark.span.end_row:
            return ""
        return self._paint(f"{' ' * (gutter - 1)}|")

    def opening(self, line: _Line) -> str:
        assert self.mark is not None
        return self._paint(" " + "_" * (line.cell(self.mark.span.column) + 1) + "^")

    def closing(self, line: _Line) -> str:
        assert self.mark is not None
        last = max(line.cell(self.mark.span.end_column) - 1, 0)
        return self._paint(f"|{'_' * (last + 1)}^ {self.mark.label}".rstrip())

    def _paint(self, text: str) -> str:
        return paint(text, self.mark.style, self.color) if self.mark else text


def _within(mark: Mark, lines: Sequence[str]) -> Mark:
    """`mark` ended where the file ends; one that is not primary ended with its first line."""
    span = mark.span
    if span.end_row > len(lines) or (span.end_row > span.row and not mark.primary):
        row = len(lines) if mark.primary else span.row
        return replace(mark, span=Span(span.row, span.column, row, len(lines[row - 1]) + 1))
    return mark


def _rows(marks: Sequence[Mark], lines: Sequence[str]) -> list[int]:
    """The rows to show, without blank ones at the ends; a gap of one row is filled."""
    rows = set()
    for mark in marks:
        span = mark.span
        if not mark.primary:
            rows.add(span.row)
            continue
        rows.update(range(span.row - CONTEXT, span.row + HEAD))
        rows.update(range(span.end_row - TAIL + 1, span.end_row + CONTEXT + 1))
        rows -= set(range(span.row + HEAD, span.end_row - TAIL + 1))
        if span.end_row - span.row < HEAD:
            rows -= set(range(span.end_row + CONTEXT + 1, span.row + HEAD))
    rows = {row for row in rows if 1 <= row <= len(lines)}
    marked = {mark.span.row for mark in marks} | {mark.span.end_row for mark in marks}
    ordered = sorted(rows | {row + 1 for row in rows if row + 1 not in rows and row + 2 in rows})
    while ordered[0] not in marked and not lines[ordered[0] - 1].strip():
        ordered.pop(0)
    while ordered[-1] not in marked and not lines[ordered[-1] - 1].strip():
        ordered.pop()
    return ordered


def _shown(source: str, starts: Sequence[int], room: int) -> _Line:
    """One line, tabs expanded, unsafe characters escaped, and cut to `room` cells around the first of `starts`.

    Of a line that is much longer than that, only what is near to the place is looked at.
    """
    at = min(min(starts, default=1) - 1, len(source))
    skipped = max(at - room, 0)
    near = source[skipped : at + 2 * room]
    pieces: list[str] = []
    cells = [0]
    for char in near:
        piece = " " * (TAB - cells[-1] % TAB) if char == "\t" else visible(char)
        pieces.append(piece)
        cells.append(cells[-1] + width(piece))
    if cells[-1] <= room and len(near) == len(source):
        return _Line("".join(pieces), tuple(cells))
    start = cells[at - skipped]
    offset = 0 if start < room * 3 // 4 else start - room // 4
    first = next(index for index, cell in enumerate(cells) if cell >= offset)
    last = max(index for index, cell in enumerate(cells) if cell <= max(offset, cells[first]) + room - 2)
    cut_before, cut_after = skipped + first > 0, skipped + last < len(source)
    text = ("…" if cut_before else "") + "".join(pieces[first:last]) + ("…" if cut_after else "")
    shift = cells[first] - (1 if cut_before else 0)
    end = width(text)
    return _Line(text, tuple(min(max(cell - shift, 0), end) for cell in cells), skipped)


def _underlines(line: _Line, marks: Sequence[Mark], color: bool) -> Iterator[str]:
    """Underlines from right to left, a row for each label; marks without one share the first row where they fit."""
    rows: list[list[tuple[int, int, Mark]]] = []
    for mark in sorted(marks, key=lambda mark: (-mark.span.column, not mark.primary, mark.span, mark.label)):
        start = line.cell(mark.span.column)
        stop = max(line.cell(mark.span.end_column), start + 1)
        if rows and not mark.label and stop < min(start for start, _, _ in rows[0]):
            rows[0].append((start, stop, mark))
        else:
            rows.append([(start, stop, mark)])
    for row in rows:
        text, at = "", 0
        for start, stop, mark in sorted(row, key=lambda item: item[0]):
            stroke = ("^" if mark.primary else "-") * (stop - start)
            text += " " * (start - at) + paint(f"{stroke} {mark.label}".rstrip(), mark.style, color)
            at = stop
        yield text
