"""Chains of methods of a Module that give the Module: ``Net().to(device).eval()``."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.nodes import nodes_in, once_a_node

_GIVES_ITSELF = torch_api.MODULE_MODES | torch_api.MODULE_DTYPES
_OF_MODULE = _GIVES_ITSELF | torch_api.MOVE_METHODS | {"apply", "share_memory"}
"""All methods by which a Module changes, and gives itself."""


@once_a_node
def chained(scope: ast.AST) -> dict[ast.expr, tuple[ast.Call, bool]]:
    """For what such methods are called on, the last call of the chain, and whether one is of Modules alone.

    A tensor has no `eval`, but it has a `float`.
    """
    found: dict[ast.expr, tuple[ast.Call, bool]] = {}
    for call in nodes_in(scope, ast.Call):  # outer ones come first
        if isinstance(call.func, ast.Attribute) and call.func.attr in _GIVES_ITSELF:
            last, of_module = found.get(call, (call, False))
            found[call.func.value] = last, of_module or call.func.attr in torch_api.MODULE_ONLY_ATTRIBUTES
    return found


def unchained(receiver: ast.expr) -> tuple[ast.expr, bool]:
    """`net` in ``net.eval()``, and whether a method of the chain says that it is a Module; else what was given."""
    node, of_module = receiver, False
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _GIVES_ITSELF:
        of_module = of_module or node.func.attr in torch_api.MODULE_ONLY_ATTRIBUTES
        node = node.func.value
    return (node, True) if of_module and dotted_path(node) is not None else (receiver, False)


def module_in(node: ast.expr) -> ast.expr:
    """`net` in ``net.eval()`` and ``net.float().cpu()``: the Module that a chain of such methods gives."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _OF_MODULE:
        node = node.func.value
    return node


@once_a_node
def moved_in(scope: ast.AST) -> frozenset[str]:
    """The paths of what a scope moves in place, if it is a Module: ``net.cpu()``, ``self.net.eval().to(device)``."""
    calls = (each.func for each in nodes_in(scope, ast.Call) if isinstance(each.func, ast.Attribute))
    moved = (dotted_path(module_in(each.value)) for each in calls if each.attr in torch_api.MOVE_METHODS)
    return frozenset(each for each in moved if each is not None)
