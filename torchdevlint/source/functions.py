"""The functions that a piece of code defines."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.source.nodes import nodes_in

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
AnyFunction = FunctionNode | ast.Lambda


def functions_in(scope: ast.AST) -> list[FunctionNode]:
    """The functions and methods below `scope`: those of ``def``, nearer ones first, and then those of ``async def``."""
    return [*nodes_in(scope, ast.FunctionDef), *nodes_in(scope, ast.AsyncFunctionDef)]


def forwards_in(scope: ast.AST) -> Iterator[tuple[ast.ClassDef, ast.FunctionDef]]:
    """The classes below `scope` that define a ``forward``, with it."""
    for owner in nodes_in(scope, ast.ClassDef):
        for each in owner.body:
            if isinstance(each, ast.FunctionDef) and each.name == "forward":
                yield owner, each
