"""What a comment that stands alone on a line holds for: the rows of the statement below it."""

from __future__ import annotations

import io
import tokenize
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence

from torchdevlint.suppress.comments import Pragma, Rows

_NO_CODE = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


def held_below(pragmas: Iterable[Pragma], lines: Sequence[str], cells: Collection[int]) -> dict[int, list[Pragma]]:
    """The comments that hold for each row because they stand above it; those above one statement share a list.

    Between a comment and what it holds for may be other comments, but no blank line and no end of a cell. It holds for
    all rows of a simple statement, and for the header of a compound one: decorators, and all up to the colon. Within
    brackets it holds for the next row.
    """
    grouped: dict[Rows, list[Pragma]] = {}
    statements: list[Rows] | None = None
    for pragma in pragmas:
        row = _code_below(pragma.row, lines, cells)
        if row is None:
            continue
        if statements is None:
            statements = list(_statements(lines))
        at = bisect_left(statements, (row, 0))
        rows = statements[at] if at < len(statements) and statements[at][0] == row else (row, row)
        grouped.setdefault(rows, []).append(pragma)
    return {row: held for (first, last), held in grouped.items() for row in range(first, last + 1)}


def _code_below(row: int, lines: Sequence[str], cells: Collection[int]) -> int | None:
    for below in range(row + 1, len(lines) + 1):
        line = lines[below - 1].strip()
        if not line or below in cells:
            return None
        if not line.startswith("#"):
            return below
    return None


def _statements(lines: Sequence[str]) -> Iterator[Rows]:
    """First and last row of each simple statement, or header of a compound one; none of a text without tokens.

    A definition with decorators begins at each of them.
    """
    starts: list[int] = []
    decorated, begins = False, True
    try:
        for kind, text, (row, _), _, _ in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
            if kind in _NO_CODE:
                continue
            if kind == tokenize.NEWLINE:
                if not decorated:
                    yield from ((start, row) for start in starts)
                    starts = []
                begins = True
            elif begins:
                starts.append(row)
                decorated, begins = text == "@", False
    except (tokenize.TokenError, SyntaxError, ValueError):
        return
