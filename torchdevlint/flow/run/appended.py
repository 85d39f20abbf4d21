"""Lists and dicts that an object keeps: what its methods put into one is what another method finds in it.

So is what functions put into one of an object that has a name: ``policy.rewards.append(r)``.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.joins import blurred, join_all
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import MAX_MEMBERS, UNKNOWN, Map, Obj, Seq, Value
from torchdevlint.source.nodes import nodes_in, once_a_node


def note(frame: Frame, state: State, node: ast.expr, value: Value) -> None:
    """``self.outputs.append(x)`` and ``self.outputs[name] = x``, where `node` is the list or dict."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return
    if _own(node) is not None:
        holder = frame.owner
    else:
        held = frame.evaluate(node.value, state)
        holder = held.info if isinstance(held, Obj) else None
    if holder is not None:
        holder.appended.setdefault(node.attr, {})[node] = value


def begins_empty(value: Value | None) -> bool:
    """Whether every method that assigns the list or dict makes it an empty one."""
    empty = type(value) is Map and value.closed and not value.items
    return empty or (type(value) is Seq and value.items == ())


def appenders(info: ClassInfo, name: str) -> tuple[ast.AST, ...]:
    """The methods of a class that put something into the list or dict ``self.name``."""
    return _appenders(info.node).get(name, ())


def filled(info: ClassInfo, name: str, empty: Value) -> Value:
    """The list or dict with what was put into it, if that is one kind of thing."""
    values = list(info.appended.get(name, {}).values())
    element = blurred(join_all(values))
    if element == UNKNOWN:
        return empty
    if isinstance(empty, Map):
        return Map((), element)
    return Seq(None, element, tuple(dict.fromkeys(values))[:MAX_MEMBERS])


@once_a_node
def _appenders(node: ast.ClassDef) -> dict[str, tuple[ast.AST, ...]]:
    found: dict[str, dict[ast.AST, None]] = {}
    for method in node.body:
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for call in nodes_in(method, ast.Call):
                appends = isinstance(call.func, ast.Attribute) and call.func.attr == "append"
                name = _own(call.func.value) if appends else None  # type: ignore[attr-defined]
                if name is not None:
                    found.setdefault(name, {})[method] = None
            for item in nodes_in(method, ast.Subscript):
                name = _own(item.value) if isinstance(item.ctx, ast.Store) else None
                if name is not None:
                    found.setdefault(name, {})[method] = None
    return {name: tuple(methods) for name, methods in found.items()}


def _own(node: ast.expr) -> str | None:
    """`x` in ``self.x``."""
    return node.attr if isinstance(node, ast.Attribute) and dotted_path(node.value) == "self" else None
