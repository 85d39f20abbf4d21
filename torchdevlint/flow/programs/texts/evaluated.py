"""What an expression or a simple statement evaluates whatever its conditions say."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.source.nodes import below

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_APART = (*_DEFINITIONS, ast.Lambda, ast.IfExp, ast.BoolOp)
"""What an expression may leave out, or runs at another time."""


def surely_called(node: ast.AST) -> Iterator[ast.Call]:
    """The calls in an expression or a simple statement that no condition leaves out."""
    level: list[ast.AST] = [node]
    while level:
        yield from (each for each in level if isinstance(each, ast.Call))
        level = [each for each in below(level) if isinstance(each, ast.AST) and not isinstance(each, _APART)]


def surely_read(node: ast.AST) -> Iterator[ast.Name]:
    """The names in an expression or a simple statement that are evaluated with it, those of a test as well."""
    level: list[ast.AST] = [node]
    while level:
        yield from (each for each in level if isinstance(each, ast.Name))
        level = [part for each in level for part in _evaluated_with(each)]


def _evaluated_with(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.IfExp):
        yield node.test
    elif isinstance(node, ast.BoolOp):
        yield node.values[0]
    elif not isinstance(node, (*_DEFINITIONS, ast.Lambda)):
        yield from (each for each in ast.iter_child_nodes(node) if each is not getattr(node, "annotation", None))
