"""Whether a test decides over nothing but moves: then an arm that has never been run does no more than is expected."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.source.nodes import is_inside, nodes_in


def decides_moves_alone(scope: ast.AST, node: ast.expr) -> bool:
    """Whether all that depends on a part of a test in `scope` is moved, or ends in an error, whichever way it goes.

    An answer that is kept or returned decides over more.
    """
    if any(is_inside(node, each.test) for each in nodes_in(scope, ast.Assert)):
        return True
    tests = [each for each in nodes_in(scope, ast.If) if is_inside(node, each.test)]
    choices = [each for each in nodes_in(scope, ast.IfExp) if is_inside(node, each.test)]
    if len(tests) + len(choices) != 1:
        return False
    if choices:
        return any(map(_moves, (choices[0].body, choices[0].orelse)))
    return all(map(_only_moves, (*tests[0].body, *tests[0].orelse)))


def _only_moves(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.Pass, ast.Raise)):
        return True
    is_plain = isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return))
    value = statement.value if is_plain else None  # type: ignore[attr-defined]
    return value is not None and _moves(value)


def _moves(value: ast.expr) -> bool:
    """``x.cpu()``, ``x.detach().cpu().numpy()``, ``self.net.to(x.device)``."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr in torch_api.PLACING_METHODS:
            return True
        value = value.func.value
    return False
