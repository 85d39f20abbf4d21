"""Arms of a test of which one sends something to a device that is given, and the other one to CUDA by name."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchdevlint.flow.scope.names import dotted_path, places_in
from torchdevlint.source.nodes import assignment_of, inside, is_inside, nodes_in


def is_for_another_arm(scope: ast.AST, place: ast.AST, device: str) -> bool:
    """Whether what is bound by means of `place` is sent to a device in the other arm: the test says which one it is.

    Of what is calculated with it (``loss = (x.cuda() - y).mean()``) the test decides something else.
    """
    for each in nodes_in(scope, ast.If):
        for arm, other in ((each.body, each.orelse), (each.orelse, each.body)):
            bound = {dotted_path(target) for target, value in _bound_in(arm) if _gives(value, place)}
            if any(dotted_path(target) in bound and _is_sent(value, device) for target, value in _bound_in(other)):
                return True
    return False


def _gives(value: ast.expr, place: ast.AST) -> bool:
    """Whether a place is in an expression, and no operand there."""
    return is_inside(place, value) and not any(is_inside(place, each) for each in nodes_in(value, ast.BinOp))


def _bound_in(arm: Iterable[ast.stmt]) -> list[tuple[ast.expr, ast.expr]]:
    found = (assignment_of(each) for statement in arm for each in inside(statement))
    return [(target, each.value) for each in found if each is not None for target in each.targets]


def _is_sent(value: ast.expr, device: str) -> bool:
    """Whether an expression says ``.to(device)``."""
    calls = (each for each in inside(value) if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute))
    sent = (given for each in calls if each.func.attr == "to" for given in places_in(each))  # type: ignore[attr-defined]
    return any(dotted_path(each) == device for each in sent)
