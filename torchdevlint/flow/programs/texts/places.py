"""What of a file is at a place: the expression, and the statements around it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchdevlint.model import Span
from torchdevlint.source.nodes import Node, below, inside, nodes_in, once_a_node


def holds(node: ast.stmt, line: int) -> bool:
    """Whether a line is one of a statement's."""
    return node.lineno <= line <= (node.end_lineno or line)


def first_holding(nodes: Iterable[Node], line: int) -> Node | None:
    """The first of some statements that a line is one of."""
    return next((each for each in nodes if holds(each, line)), None)  # type: ignore[arg-type]


def expression_at(tree: ast.Module, at: Span) -> ast.expr | None:
    """The call that a fact spans, else one that goes on behind that, or the very expression there."""
    calls = [each for each in nodes_in(tree, ast.Call) if _is_around(each, at)]
    if calls:
        return next((each for each in calls if _is_exactly(each, at)), calls[0])
    return next((each for each in inside(tree) if isinstance(each, ast.expr) and _is_exactly(each, at)), None)


def expression_of(tree: ast.Module, at: Span) -> ast.expr | None:
    """The outermost expression that begins and ends with a span."""
    return next((each for each in inside(tree) if isinstance(each, ast.expr) and _is_exactly(each, at)), None)


@once_a_node
def parents_in(tree: ast.Module) -> dict[ast.AST, ast.AST]:
    """What each part of a file stands in."""
    return {each: node for node in inside(tree) for each in below([node]) if isinstance(each, ast.AST)}


def _is_around(node: ast.Call, at: Span) -> bool:
    starts = node.lineno == at.row and node.col_offset + 1 >= at.column
    return starts and node.end_lineno == at.end_row and (node.end_col_offset or 0) + 1 >= at.end_column


def _is_exactly(node: ast.expr, at: Span) -> bool:
    starts = (node.lineno, node.col_offset + 1) == (at.row, at.column)
    return starts and (node.end_lineno, (node.end_col_offset or 0) + 1) == (at.end_row, at.end_column)
