"""The edits that rules make of the texts and places in facts. Not a rule."""

from __future__ import annotations

import io
import re
import tokenize

from torchdevlint.flow.facts.common import Reordering
from torchdevlint.model import Applicability, Edit, Fix, Span
from torchdevlint.rules.wording import operand

_BLANK = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


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


def cut_after(span: Span, whole: Span) -> Edit | None:
    """Nothing in place of what stands behind an expression, up to the end of the `whole` that starts with it.

    None where the expression is in parentheses, of which one would be left.
    """
    if (span.row, span.column) != (whole.row, whole.column):
        return None
    return Edit("", Span(span.end_row, span.end_column, whole.end_row, whole.end_column, span.file))


def attribute_renamed(span: Span, old: str, new: str) -> Edit:
    """Another name behind the last dot of an expression at `span`, where `old` stands."""
    return Edit(new, Span(span.end_row, span.end_column - len(old), span.end_row, span.end_column, span.file))


def reordered(change: Reordering) -> tuple[Edit, ...]:
    """Lines in another place."""
    return Edit(change.text, change.before), Edit("", change.span)


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


def keywords(call: str) -> frozenset[str] | None:
    """The names of the keyword arguments of a call, ``**`` for those of a dict; None if the text is no call."""
    tokens = list(_tokens(call))
    if not tokens or tokens[-1].string != ")":
        return None
    return frozenset(each[0].string for each in _arguments(tokens) if each[0].string == "**" or _is_keyword(each))


def argument_replaced(call: str, span: Span, name: str, old: str, new: str) -> Edit | None:
    """Another value for a keyword argument of a call whose value is the one token `old`; None if that is not so."""
    for each in _arguments(list(_tokens(call))):
        if [one.string for one in each] == [name, "=", old]:
            return replaced(Span(*_place(each[2].start, span), *_place(each[2].end, span), span.file), new)
    return None


def argument_removed(call: str, span: Span, name: str) -> Edit | None:
    """A call whose text is `call` and that stands at `span` without a keyword argument, of which nothing is left.

    None if it has no such argument, or if there are comments in it, which the argument may take along.
    """
    arguments = _arguments(list(_tokens(call)))
    found = next((at for at, each in enumerate(arguments) if [one.string for one in each[:2]] == [name, "="]), None)
    if found is None or "#" in call or any(one.string == ":=" for one in arguments[found]):
        return None
    begin, end = arguments[found][0].start, arguments[found][-1].end
    if found + 1 < len(arguments):
        end = arguments[found + 1][0].start
    elif found:
        begin = arguments[found - 1][-1].end
    return replaced(Span(*_place(begin, span), *_place(end, span), span.file), "")


def call_added(expression: str, span: Span, call: str) -> tuple[Edit, ...]:
    """A method call behind an expression whose text is `expression`: ``.cpu()``, in parentheses where it needs them.

    Nothing where the text is that of an f-string, which is all that is known of the place of what is inside of one.
    """
    if expression.lstrip("bBfFrRuU").startswith(('"', "'")):
        return ()
    if operand(expression) == expression:
        return (added_after(span, call),)
    return (added_before(span, "("), added_after(span, f"){call}"))


def call_before(text: str, span: Span, method: str, call: str) -> Edit | None:
    """A method call before the last one of a chain whose text is `text`, which is that of `method`; None if not."""
    tokens = _tokens(text)
    if [each.string for each in tokens[-4:-1]] != [".", method, "("] or tokens[-1].string != ")":
        return None
    return inserted(*_place(tokens[-4].start, span), call, span.file)


def call_replaced(text: str, span: Span, method: str, call: str) -> Edit | None:
    """Another call in the place of the last one of a chain whose text is `text`, which is that of `method`."""
    tokens, depth = list(_tokens(text)), 0
    for place in reversed(range(2, len(tokens))):
        depth += (tokens[place].string in _CLOSING) - (tokens[place].string in _OPENING)
        if depth == 0:
            named = [each.string for each in tokens[place - 2 : place]] == [".", method]
            end = Span(*_place(tokens[place - 2].start, span), span.end_row, span.end_column, span.file)
            return replaced(end, call) if named and tokens[-1].string == ")" else None
    return None


def _tokens(text: str) -> list[tokenize.TokenInfo]:
    """The tokens of an expression that mean something, read in parentheses, since it may have several lines.

    Only ``\\n`` ends a line of what is tokenized, where a line of source ends as Python reads it.
    """
    rows = re.sub(r"\r\n?", "\n", text)
    try:
        found = list(tokenize.generate_tokens(io.StringIO(f"({rows}\n)").readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    return [each for each in found if each.type not in _BLANK][1:-1]


def _arguments(tokens: list[tokenize.TokenInfo]) -> list[list[tokenize.TokenInfo]]:
    """The arguments of the call that an expression ends with, without the commas between them."""
    found: list[list[tokenize.TokenInfo]] = [[]]
    depth = 0
    for token in reversed(tokens):
        depth += (token.string in _CLOSING) - (token.string in _OPENING)
        if depth == 0:
            break
        if depth == 1 and token.string == ",":
            found.append([])
        elif token is not tokens[-1]:
            found[-1].append(token)
    return [each[::-1] for each in reversed(found) if each]


def _is_keyword(argument: list[tokenize.TokenInfo]) -> bool:
    return len(argument) > 1 and argument[1].string == "="


def _place(at: tuple[int, int], span: Span) -> tuple[int, int]:
    """Where a place among the tokens of a text is in the file."""
    row, column = at
    return span.row + row - 1, column + (span.column - 1 if row == 1 else 1)
