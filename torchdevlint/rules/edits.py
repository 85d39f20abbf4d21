"""The edits that rules make of the texts and places in facts. Not a rule."""

from __future__ import annotations

import io
import tokenize

from torchdevlint.model import Applicability, Edit, Fix, Span
from torchdevlint.rules.wording import operand

_BLANK = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


def fix(applicability: Applicability, message: str, *edits: Edit | None) -> Fix | None:
    """A fix of the file that is linted; None where an edit could not be made, or is of another file."""
    made = tuple(each for each in edits if each is not None and not each.span.file)
    return Fix(applicability, message, made) if made and len(made) == len(edits) else None


def replaced(span: Span, content: str) -> Edit:
    """Another text in a place."""
    return Edit(content, span)


def inserted(row: int, column: int, content: str, file: str = "") -> Edit:
    """A text before a place."""
    return Edit(content, Span(row, column, row, column, file))


def added_before(span: Span, content: str) -> Edit:
    """A text before an expression."""
    return inserted(span.row, span.column, content, span.file)


def added_after(span: Span, content: str) -> Edit:
    """A text behind an expression."""
    return inserted(span.end_row, span.end_column, content, span.file)


def cut_after(span: Span, whole: Span) -> Edit:
    """Nothing in place of what stands behind an expression, up to the end of the `whole` around it."""
    return Edit("", Span(span.end_row, span.end_column, whole.end_row, whole.end_column, span.file))


def attribute_renamed(span: Span, old: str, new: str) -> Edit:
    """Another name behind the last dot of an expression at `span`, where `old` stands."""
    return Edit(new, Span(span.end_row, span.end_column - len(old), span.end_row, span.end_column, span.file))


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
        return inserted(row, column, argument, span.file)
    return inserted(row, column, f" {argument}," if last.string == "," else f", {argument}", span.file)


def call_added(expression: str, span: Span, call: str) -> tuple[Edit, ...]:
    """A method call behind an expression whose text is `expression`: ``.cpu()``, in parentheses where it needs them."""
    if operand(expression) == expression:
        return (added_after(span, call),)
    return (added_before(span, "("), added_after(span, f"){call}"))


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
