"""What a name or an attribute of `self` is bound to, where that is done once."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.scope.place_tests import names_place, tests_around
from torchdevlint.flow.scope.uses import Scope, bindings_in
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import is_inside


def bound_once(frame: Frame, node: ast.expr) -> ast.expr | None:
    """The expression that a name of the function or the module, or an attribute of `self`, stands for; None if unsure.

    An attribute may be bound in another method, whose names mean nothing here: there only a call is told, also where
    that method gives it a name first.
    """
    path, function = dotted_path(node), frame.function
    if path is None:
        return None
    if path.startswith("self."):
        values = [] if frame.owner is None else values_by_path(frame.owner.node).get(path, [])
        value = values[0] if len(values) == 1 else None
        if isinstance(value, ast.Name) and frame.owner is not None:
            methods = frame.owner.methods.values()
            around = next((each for each in methods if is_inside(value, each)), None)
            given = around is None or value.id in parameter_names(around)
            value = None if around is None or given else _bound_in(around, value.id)
        return value if isinstance(value, ast.Call) else None
    if not isinstance(node, ast.Name) or (function is not None and path in parameter_names(function)):
        return None
    for scope in (frame.machine.tree,) if function is None else (function, frame.machine.tree):
        if _times_bound(scope, path):
            return _bound_in(scope, path)
    return None


def bound_or_none(function: AnyFunction | None, node: ast.expr) -> ast.expr | None:
    """The other value of what is None in one case: ``g = None if seed is None else torch.Generator(x.device)``.

    A test for a place decides that by where the tensors are.
    """
    if isinstance(node, ast.IfExp):
        arms = [each for each in (node.body, node.orelse) if not _is_none(each)]
        return arms[0] if len(arms) == 1 and not names_place(node.test) else None
    if not isinstance(node, ast.Name) or function is None or node.id in parameter_names(function):
        return None
    values = values_by_path(function).get(node.id, [])
    made = [each for each in values if not _is_none(each)]
    if len(values) != _times_bound(function, node.id) or len(values) == len(made) or len(made) != 1:
        return None
    return None if any(map(names_place, tests_around(function, made[0]))) else made[0]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _times_bound(scope: Scope, name: str) -> int:
    return sum(bound for _, bound, _ in bindings_in(scope).get(name, ()))


def _bound_in(scope: Scope, name: str) -> ast.expr | None:
    """What an assignment binds a name to, if that is the only place of a function or module that binds it."""
    values = values_by_path(scope).get(name, [])
    return values[0] if len(values) == _times_bound(scope, name) == 1 else None
