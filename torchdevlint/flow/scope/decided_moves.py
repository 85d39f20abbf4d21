"""Whether a test decides over nothing but moves: then an arm that has never been run does no more than is expected."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.nodes import is_inside, nodes_in


def decides_moves_alone(scope: ast.AST, node: ast.expr, always: bool = False) -> bool:
    """Whether all that depends on a part of a test in `scope` is moved, or ends in an error, whichever way it goes.

    An answer that is kept or returned decides over more. An arm that has `always` been run must do nothing else: what
    is there already goes without a move, and not without ``detach()``.
    """
    if any(is_inside(node, each.test) for each in nodes_in(scope, ast.Assert)):
        return True
    tests = [each for each in nodes_in(scope, ast.If) if is_inside(node, each.test)]
    choices = [each for each in nodes_in(scope, ast.IfExp) if is_inside(node, each.test)]
    if len(tests) + len(choices) != 1:
        return False
    if choices:
        arms = [each for each in (choices[0].body, choices[0].orelse) if _moves(each)]
        return bool(arms) and not (always and not all(map(_moves_alone, arms)))
    return all(_only_moves(each, always) for each in (*tests[0].body, *tests[0].orelse))


def _only_moves(statement: ast.stmt, alone: bool) -> bool:
    if isinstance(statement, (ast.Pass, ast.Raise)):
        return True
    is_plain = isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return))
    value = statement.value if is_plain else None  # type: ignore[attr-defined]
    return value is not None and (_moves_alone(value) if alone else _moves(value))


def _moves_alone(value: ast.expr) -> bool:
    """``x.cpu()`` and ``x.to(device)``, of something that has a name."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in torch_api.PLACING_METHODS:
            return False
        value = value.func.value
    return dotted_path(value) is not None


def _moves(value: ast.expr) -> bool:
    """``x.cpu()``, ``x.detach().cpu().numpy()``, ``self.net.to(x.device)``."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr in torch_api.PLACING_METHODS:
            return True
        value = value.func.value
    return False
