"""Where `ast` would have libcst's nodes stand, so that what is known of a place is known of a node.

libcst and `ast` both leave out the parentheses around an expression, but `ast` counts those of tuples and generators,
the last comma of a tuple without any, and in a starred element what is around its value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import libcst as cst
from libcst.metadata import BaseMetadataProvider, CodePosition, CodeRange, PositionProvider

from torchdevlint.model import Span

Ranges = Mapping[cst.CSTNode, CodeRange]
"""What libcst's `PositionProvider` says of a module."""

Metadata = Mapping[type[BaseMetadataProvider[object]], Mapping[cst.CSTNode, object]]

STANDING = (
    cst.BaseExpression, cst.BaseSmallStatement, cst.BaseCompoundStatement,
    cst.Arg, cst.Comment, cst.ImportAlias, cst.Param,
)  # fmt: skip


def ranges_in(metadata: Metadata) -> Ranges:
    """The ranges among the metadata of a visitor that depends on the `PositionProvider`."""
    return cast(Ranges, metadata[PositionProvider])


def standing(ranges: Ranges) -> Iterator[tuple[cst.CSTNode, Span]]:
    """Expressions, statements and what else has a place of its own, with it; what is inside before what is around it.

    An argument has one if it is starred or has a name.
    """
    sole: dict[cst.CSTNode, cst.CSTNode] = {
        generator: call for call in ranges if (generator := _sole_generator(call)) is not None
    }
    for node in ranges:
        if isinstance(node, STANDING) and not (isinstance(node, cst.Arg) and not node.star and node.keyword is None):
            yield node, _call_parentheses(sole[node], ranges) if node in sole else _place(node, ranges)


def _place(node: cst.CSTNode, ranges: Ranges) -> Span:
    start, end = ranges[node].start, ranges[node].end
    if isinstance(node, (cst.Tuple, cst.GeneratorExp)):
        if node.lpar:
            start, end = ranges[node.lpar[-1]].start, ranges[node.rpar[0]].end
        elif isinstance(node, cst.Tuple) and isinstance(comma := node.elements[-1].comma, cst.Comma):
            end = _after(ranges[comma.whitespace_before].end)
    elif isinstance(node, (cst.StarredElement, cst.Arg)):
        end = _outer_end(node.value, ranges)
    elif isinstance(node, cst.ImportAlias):
        end = ranges[node.name if node.asname is None else node.asname].end
    elif isinstance(node, cst.Param):
        start = ranges[node.name].start
        end = _outer_end(node.name if node.annotation is None else node.annotation.annotation, ranges)
    return _span(start, end)


def _outer_end(node: cst.BaseExpression, ranges: Ranges) -> CodePosition:
    return ranges[node.rpar[-1] if node.rpar else node].end


def _sole_generator(node: cst.CSTNode) -> cst.GeneratorExp | None:
    """The generator that is all that a call is given, and shares its parentheses."""
    if not isinstance(node, cst.Call) or len(node.args) != 1:
        return None
    value = node.args[0].value
    return value if isinstance(value, cst.GeneratorExp) and not value.lpar else None


def _call_parentheses(call: cst.CSTNode, ranges: Ranges) -> Span:
    assert isinstance(call, cst.Call)
    return _span(ranges[call.whitespace_after_func].end, ranges[call].end)


def _after(position: CodePosition) -> CodePosition:
    return CodePosition(position.line, position.column + 1)


def _span(start: CodePosition, end: CodePosition) -> Span:
    """The library counts rows from 1 and code points from 0."""
    return Span(start.line, start.column + 1, end.line, end.column + 1)
