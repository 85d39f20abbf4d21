"""Loops that count from zero, and ask whether they are in their first round: ``for i in range(n): if i == 0: ..``."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.nodes import nodes_in, once_a_node

Loop = ast.For | ast.AsyncFor


@once_a_node
def first_round_counter(loop: Loop) -> str:
    """The name that is 0 in the first round alone, if the body asks for that and does not bind it anew; else ""."""
    name = _counter(loop)
    if name is None or not any(_asks_for_zero(each, name) for each in _tests(loop)):
        return ""
    bound = [each for each in nodes_in(loop, ast.Name) if each.id == name and not isinstance(each.ctx, ast.Load)]
    return name if len(bound) == 1 else ""


def _counter(loop: Loop) -> str | None:
    """`i` of ``for i in range(n)``, and of ``for i, x in enumerate(xs)``."""
    call, target = loop.iter, loop.target
    if not isinstance(call, ast.Call) or call.keywords or len(call.args) != 1 or isinstance(call.args[0], ast.Starred):
        return None
    if dotted_path(call.func) == "enumerate":
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            return None
        target = target.elts[0]
    elif dotted_path(call.func) != "range":
        return None
    return target.id if isinstance(target, ast.Name) else None


def _tests(loop: Loop) -> list[ast.expr]:
    asking: list[ast.If | ast.IfExp] = [*nodes_in(loop, ast.If), *nodes_in(loop, ast.IfExp)]
    return [each.test for each in asking]


def _asks_for_zero(test: ast.expr, name: str) -> bool:
    """``i == 0``, ``i != 0``, ``i > 0``, ``i``, ``not i``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        other = test.comparators[0]
        is_zero = isinstance(other, ast.Constant) and other.value == 0
        if not is_zero or not isinstance(test.ops[0], (ast.Eq, ast.NotEq, ast.Gt)):
            return False
        test = test.left
    return isinstance(test, ast.Name) and test.id == name
