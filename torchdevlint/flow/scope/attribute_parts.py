"""Batches that a scope knows by their attributes alone, ``batch.x``, and which of these it moves."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import dotted_path, last_name, mentions_device
from torchdevlint.source.nodes import arguments_of, dropped_by, inside, is_name, nodes_in, once_a_node

_ASKS = frozenset({"hasattr", "isinstance", "len", "print", "type"})
"""Functions of Python that leave what they are given as it is."""


@once_a_node
def known_by_attributes(scope: ast.AST) -> frozenset[str]:
    """The names of which a scope reads and writes nothing but attributes, and calls no method.

    What else is done with an object may move all that it holds: ``batch.to(device)``, ``prepare(batch)``.
    """
    calls = nodes_in(scope, ast.Call)
    called = {id(each.func) for each in calls}
    attributes = [each for each in nodes_in(scope, ast.Attribute) if id(each) not in called]
    held = {id(each.value): each.value.id for each in attributes if isinstance(each.value, ast.Name)}
    asked = {id(one) for each in calls if dotted_path(each.func) in _ASKS for one in each.args}
    reads = (each for each in nodes_in(scope, ast.Name) if isinstance(each.ctx, ast.Load))
    others = {each.id for each in reads if id(each) not in held and id(each) not in asked}
    return frozenset(held.values()) - others


def moves_beside(scope: ast.AST, node: ast.Attribute) -> bool:
    """Whether a scope moves another attribute of what it knows by attributes alone: ``batch.x`` beside ``batch.y``."""
    name = node.value.id if isinstance(node.value, ast.Name) else ""
    moved = _moved_in(scope).get(name, frozenset())
    return bool(moved - {node.attr}) and name in known_by_attributes(scope)


def moves_some(scope: ast.AST, name: str) -> bool:
    """Whether a scope moves an attribute of what it knows by attributes alone."""
    return name in _moved_in(scope) and name in known_by_attributes(scope)


@once_a_node
def _moved_in(scope: ast.AST) -> dict[str, frozenset[str]]:
    """The attributes that a scope moves to a device, by the names that have them, where the result is kept."""
    dropped = {id(each) for node in nodes_in(scope, ast.Expr) for each in dropped_by(node.value)}
    found: dict[str, frozenset[str]] = {}
    for call in nodes_in(scope, ast.Call):
        part = call.func.value if isinstance(call.func, ast.Attribute) else None
        name = part.value.id if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) else ""
        if isinstance(part, ast.Attribute) and name and id(call) not in dropped and _moves(call, name):
            found[name] = found.get(name, frozenset()) | {part.attr}
    return found


def _moves(call: ast.Call, name: str) -> bool:
    """``batch.x.cuda()``, and ``batch.x.to(device)`` of what is called a device, but not that of another part."""
    places = (each for each in arguments_of(call) if mentions_device(last_name(each)))
    told = any(not any(is_name(one, name) for one in (each, *inside(each))) for each in places)
    return last_name(call.func) == "cuda" or (last_name(call.func) == "to" and told)
