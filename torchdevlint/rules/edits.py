"""The edits that rules make of the texts and places in facts. Not a rule."""

from __future__ import annotations

import io
import tokenize

from torchdevlint.model import Edit, Span
from torchdevlint.rules.wording import operand

_BLANK = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


def replaced(span: Span, content: str) -> Edit:
    """Another text in a place."""
    return Edit(content, span)


def inserted(row: int, column: int, content: str) -> Edit:
    """A text before a place."""
    return Edit(content, Span(row, column, row, column))


def argument_added(call: str, span: Span, argument: str) -> Edit | None:
    """One more argument at the end of a call whose text is `call` and that stands at `span`.

    It stands behind the last argument, before comments and line ends; None if the text is no call.
    """
    tokens = list(_tokens(call))
    if len(tokens) < 2 or tokens[-1].string != ")":
        return None
    last = tokens[-2]
    row, column = _place(last.end, span)
    if last.string == "(":
        return inserted(row, column, argument)
    return inserted(row, column, f" {argument}," if last.string == "," else f", {argument}")


def call_added(expression: str, span: Span, call: str) -> tuple[Edit, ...]:
    """A method call behind an expression whose text is `expression`: ``.cpu()``, in parentheses where it needs them."""
    end = inserted(span.end_row, span.end_column, call)
    if operand(expression) == expression:
        return (end,)
    return (inserted(span.row, span.column, "("), inserted(span.end_row, span.end_column, f"){call}"))


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    """The tokens of an expression that mean something, read in parentheses, since it may have several lines."""
    try:
        found = list(tokenize.generate_tokens(io.StringIO(f"({text}\n)").readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    return [each for each in found if each.type not in _BLANK][1:-1]


def _place(at: tuple[int, int], span: Span) -> tuple[int, int]:
    """Where a place among the tokens of a text is in the file."""
    row, column = at
    return span.row + row - 1, column + (span.column - 1 if row == 1 else 1)
