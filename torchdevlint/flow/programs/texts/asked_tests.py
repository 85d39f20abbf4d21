"""The tests that a function asks on its way to a place, by its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.programs.texts.places import holds
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import nodes_in

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
Place = tuple[int, int]
"""A line and the column in it, as in the tree."""


def asked_before(body: list[ast.stmt], line: int) -> Iterator[tuple[ast.expr, bool]]:
    """The tests that a function asks on its way to a line, each with the outcome by which it comes there."""
    for statement in body:
        if holds(statement, line):
            yield from _asked_within(statement, line)
            return
        if isinstance(statement, ast.If) and not statement.orelse and isinstance(statement.body[-1], _LEAVING):
            yield statement.test, False


def asked_at(function: FunctionNode, spot: Place) -> list[tuple[ast.expr, bool]]:
    return [*asked_before(function.body, spot[0]), *_asked_beside(function, spot)]


def _asked_beside(function: FunctionNode, spot: Place) -> Iterator[tuple[ast.expr, bool]]:
    """The tests that expressions ask before they come to a place: ``x if test else place``, ``test and place``."""
    for choice in nodes_in(function, ast.IfExp):
        if _is_in(choice.body, spot) or _is_in(choice.orelse, spot):
            yield choice.test, _is_in(choice.body, spot)
    for operation in nodes_in(function, ast.BoolOp):
        reached = next((count for count, each in enumerate(operation.values) if _is_in(each, spot)), 0)
        yield from ((each, isinstance(operation.op, ast.And)) for each in operation.values[:reached])


def _is_in(node: ast.expr, spot: Place) -> bool:
    return (node.lineno, node.col_offset) <= spot < (node.end_lineno or 0, node.end_col_offset or 0)


def _asked_within(statement: ast.stmt, line: int) -> Iterator[tuple[ast.expr, bool]]:
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        return
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, [])
        if any(holds(each, line) for each in block):
            if isinstance(statement, (ast.If, ast.While)) and name != "finalbody":
                yield statement.test, name == "body"
            yield from asked_before(block, line)
    for handler in getattr(statement, "handlers", ()):
        yield from asked_before(handler.body, line)


def is_bound_before(function: FunctionNode, name: str, node: ast.expr) -> bool:
    """Whether a function binds one of its parameters anew before it comes to a place, be it in another round."""
    stored = [each for each in nodes_in(function, ast.Name) if each.id == name and not isinstance(each.ctx, ast.Load)]
    rounds = [
        each
        for loop in (ast.For, ast.AsyncFor, ast.While)
        for each in nodes_in(function, loop)
        if holds(each, node.lineno)
    ]
    at = node.lineno, node.col_offset
    return any((each.lineno, each.col_offset) < at or any(holds(one, each.lineno) for one in rounds) for each in stored)
