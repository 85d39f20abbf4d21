"""Whether a test, or an error, decides which of two places in a function is run."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import is_inside, own_nodes_in


def is_chosen_between(function: AnyFunction, one: ast.AST, other: ast.AST) -> bool:
    """Whether one arm of a test, or of a ``try``, holds one of two nodes and not the other one."""
    tests: list[ast.If | ast.IfExp] = [*own_nodes_in(function, ast.If), *own_nodes_in(function, ast.IfExp)]
    arms: list[ast.AST | Sequence[ast.AST]] = [arm for each in tests for arm in (each.body, each.orelse)]
    arms += [arm for each in own_nodes_in(function, ast.Try) for arm in (each.body, each.handlers)]
    return any(_holds(arm, one) != _holds(arm, other) for arm in arms)


def are_in_two_arms(function: AnyFunction, one: ast.AST, other: ast.AST) -> bool:
    """Whether one of two places is in one arm of a test, and the other one in the other arm: no call runs both."""
    return any(
        (_holds(each.body, one) and _holds(each.orelse, other))
        or (_holds(each.body, other) and _holds(each.orelse, one))
        for each in own_nodes_in(function, ast.If)
    )


def _holds(arm: ast.AST | Sequence[ast.AST], node: ast.AST) -> bool:
    return any(is_inside(node, each) for each in ((arm,) if isinstance(arm, ast.AST) else arm))
