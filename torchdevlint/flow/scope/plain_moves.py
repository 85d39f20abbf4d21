"""Moves of tensors by the text: ``x.to(device)`` and ``x.cuda()``, to what is no CPU."""

from __future__ import annotations

import ast
from typing import TypeGuard

from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, mentions_device, places_in
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import is_name, nodes_in, once_a_node, own_assignments_in

_CUDA = "cuda"


def is_plain_move(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether a call brings its receiver to a device that it names: not a conversion, and not to the CPU."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr == _CUDA:
        return True
    told = places_in(node)
    return node.func.attr == "to" and bool(told) and _is_place(told[0])


def _is_place(node: ast.expr) -> bool:
    path = dotted_path(node) or ""
    return not is_cpu_spec(node) and mentions_device(path.rpartition(".")[2])


def place_of(move: ast.Call) -> str:
    """The text of the place that a plain move names."""
    told = places_in(move)
    return ast.unparse(told[0]) if told else _CUDA


def moved_by(node: ast.expr) -> ast.Call | None:
    """The last plain move in a chain of methods: ``x.to(device).float()``."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if is_plain_move(node):
            return node
        node = node.func.value
    return None


@once_a_node
def moves_of_own(function: FunctionNode) -> dict[str, ast.Call]:
    """``x = x.to(device)``, by the name of what is moved."""
    found: dict[str, ast.Call] = {}
    for each in own_assignments_in(function):
        target, move = each.targets[0], moved_by(each.value)
        moved = move.func.value if move is not None and isinstance(move.func, ast.Attribute) else None
        if isinstance(target, ast.Name) and move is not None and moved is not None and is_name(moved, target.id):
            found[target.id] = move
    return found


@once_a_node
def names_moved(function: FunctionNode) -> dict[str, ast.Call]:
    """The names that a function moves, with one of the moves, whether or not it binds the name to the copy."""
    moves = (each for each in nodes_in(function, ast.Call) if is_plain_move(each))
    found = {}
    for each in moves:
        moved = each.func.value if isinstance(each.func, ast.Attribute) else None
        if isinstance(moved, ast.Name):
            found[moved.id] = each
    return found
