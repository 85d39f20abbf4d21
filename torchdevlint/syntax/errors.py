"""What parsing can end in, when not in a tree."""

from __future__ import annotations


class ParseError(Exception):
    """The text did not become a tree."""


class InvalidSyntaxError(ParseError):
    """No Python that is known accepts the text: `reason` says why; `row` and `column` (code points) count from 1.

    `remedy` is what would read it, where the Python and the libcst that are installed are too old for it.
    """

    def __init__(self, reason: str, row: int, column: int, remedy: str = "") -> None:
        super().__init__(reason, row, column, remedy)
        self.reason = reason
        self.row = row
        self.column = column
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.reason} (line {self.row}, column {self.column})"


class TooDeepError(ParseError):
    """The text, or its tree, is nested more deeply than a recursive walk can follow."""
