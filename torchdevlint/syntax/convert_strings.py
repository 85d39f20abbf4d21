"""libcst's string literals as `ast`'s: constants, and f-strings with their parts merged as Python merges them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

import libcst as cst

from torchdevlint.patterns import regex
from torchdevlint.source.python import literal_of
from torchdevlint.syntax.convert_expressions import expression
from torchdevlint.syntax.places import Places

_ESCAPE = regex(
    r"\{\{|\}\}|\\(?:N\{[^}]*\}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|\r\n|.)", re.DOTALL
)
_BRACES = regex(r"\{\{|\}\}")
_TEMPLATED = getattr(cst, "TemplatedString", cst.FormattedString)
_TEXTS: tuple[type, ...] = (cst.FormattedStringText, getattr(cst, "TemplatedStringText", cst.FormattedStringText))

Part = str | ast.expr


def simple(node: cst.SimpleString, at: Places) -> ast.expr:
    return at.mark(_constant(_value(node), node.value), node)


def formatted(node: cst.FormattedString, at: Places) -> ast.expr:
    """Also a template string, which becomes an f-string."""
    return at.mark(ast.JoinedStr(values=_merged(_parts(node, at), node, at)), node)


def concatenated(node: cst.ConcatenatedString, at: Places) -> ast.expr:
    pieces = list(_pieces(node))
    plain = [piece for piece in pieces if isinstance(piece, cst.SimpleString)]
    if len(plain) == len(pieces):
        values: list[Any] = [_value(piece) for piece in plain]
        return at.mark(_constant(values[0][:0].join(values), plain[0].value), node)
    parts = [part for piece in pieces for part in _parts(piece, at)]
    return at.mark(ast.JoinedStr(values=_merged(parts, node, at)), node)


def register() -> None:
    """Make `expression` know strings."""
    expression.register(cst.SimpleString, simple)
    expression.register(cst.ConcatenatedString, concatenated)
    for kind in {cst.FormattedString, _TEMPLATED}:
        expression.register(kind, formatted)


def _pieces(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    while isinstance(node, cst.ConcatenatedString):
        yield node.left
        node = node.right
    yield node


def _value(node: cst.SimpleString) -> str | bytes:
    """What the literal means; its text where Python would refuse it."""
    try:
        value = literal_of(node.value)
    except (SyntaxError, ValueError):
        return node.raw_value.encode("utf-8", "replace") if "b" in node.prefix else node.raw_value
    return value if isinstance(value, bytes) else str(value)


def _constant(value: str | bytes, literal: str) -> ast.Constant:
    return ast.Constant(value=value, kind="u" if literal.startswith("u") else None)


def _parts(node: cst.CSTNode, at: Places) -> Iterator[Part]:
    if isinstance(node, cst.SimpleString):
        yield str(_value(node))
    elif isinstance(node, (cst.FormattedString, _TEMPLATED)):
        yield from _contents(node.parts, "r" in node.prefix, at)


def _contents(parts: Sequence[cst.CSTNode], raw: bool, at: Places) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, _TEXTS):
            yield _unescaped(part.value, raw)  # type: ignore[attr-defined]
        else:
            yield from _replacement(part, raw, at)  # type: ignore[arg-type]


def _replacement(node: cst.FormattedStringExpression, raw: bool, at: Places) -> Iterator[Part]:
    """The field ``{value!r:spec}``; for ``{value=}`` its text first, which is part of the string."""
    conversion = ord(node.conversion) if node.conversion else -1
    if node.equal is not None:
        yield at.source(node.whitespace_before_expression, node.whitespace_after_expression)
        if node.conversion is None and node.format_spec is None:
            conversion = ord("r")
    spec = None
    if node.format_spec is not None:
        spec = at.mark(ast.JoinedStr(values=_merged(_contents(node.format_spec, raw, at), node, at)), node)
    value = expression(node.expression, at)
    yield at.mark(ast.FormattedValue(value=value, conversion=conversion, format_spec=spec), node)


def _merged(parts: Iterator[Part] | list[Part], node: cst.CSTNode, at: Places) -> list[ast.expr]:
    """Texts that follow each other are one constant, and empty ones are none."""
    values: list[ast.expr] = []
    for part in parts:
        if not isinstance(part, str):
            values.append(part)
        elif values and isinstance(values[-1], ast.Constant):
            values[-1].value += part  # type: ignore[operator]
        elif part:
            values.append(at.mark(ast.Constant(value=part), node))
    return values


def _unescaped(text: str, raw: bool) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if raw:
        return _BRACES.sub(lambda found: found[0][0], text)
    return _ESCAPE.sub(_meaning, text)


def _meaning(found: re.Match[str]) -> str:
    escape = found[0]
    if escape in ("{{", "}}"):
        return escape[0]
    try:
        return str(literal_of(f'"{escape}"'))
    except (SyntaxError, ValueError):
        return escape
