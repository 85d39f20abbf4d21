"""The functions that a piece of code defines."""

from __future__ import annotations

import ast

from torchdevlint.source.nodes import nodes_in

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
AnyFunction = FunctionNode | ast.Lambda


def functions_in(scope: ast.AST) -> list[FunctionNode]:
    """The functions and methods below `scope`: those of ``def``, nearer ones first, and then those of ``async def``."""
    return [*nodes_in(scope, ast.FunctionDef), *nodes_in(scope, ast.AsyncFunctionDef)]
