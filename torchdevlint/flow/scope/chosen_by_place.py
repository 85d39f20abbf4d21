"""Code that a function comes to by what a call makes of where a tensor is: ``how = way_for(x.device.type)``."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.followed_devices import root_of
from torchdevlint.flow.scope.names import public_path
from torchdevlint.flow.scope.place_tests import tests_around
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.source.nodes import arguments_of, inside, once_a_node


def is_chosen_by_place(function: Scope, node: ast.AST) -> bool:
    """Whether code is under ``if how == "host":``, where the place of something that it names has decided `how`.

    Who chooses the way by that knows on which of them a tensor is on the CPU.
    """
    choices = _choices(function)
    if not choices:
        return False
    named = {each.id for each in inside(node) if isinstance(each, ast.Name)}
    asked = {name for test in tests_around(function, node) for name in _compared(test)}
    return any(not choices.get(each, frozenset()).isdisjoint(named) for each in asked)


@once_a_node
def _choices(function: Scope) -> dict[str, frozenset[str]]:
    """The names that are bound to what a call makes of ``x.device`` or ``x.device.type``, each with every such `x`.

    A function of torch makes a tensor there.
    """
    found: dict[str, frozenset[str]] = {}
    for name, values in values_by_path(function).items():
        calls = (each for each in values if isinstance(each, ast.Call))
        others = (each for each in calls if not public_path(each.func).startswith("torch."))
        asked = filter(None, (_owner_of(given) for each in others for given in arguments_of(each)))
        if roots := frozenset(filter(None, map(root_of, asked))):
            found[name] = roots
    return found


def _owner_of(given: ast.expr) -> ast.expr | None:
    """`x` of ``x.device`` and ``x.device.type``."""
    device = given.value if isinstance(given, ast.Attribute) and given.attr == "type" else given
    return device.value if isinstance(device, ast.Attribute) and device.attr == "device" else None


def _compared(test: ast.expr) -> set[str]:
    """The names that a test compares with texts."""
    found = (each for each in inside(test) if isinstance(each, ast.Compare) and isinstance(each.left, ast.Name))
    return {each.left.id for each in found if any(map(_is_text, inside(each)))}  # type: ignore[attr-defined]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
