"""Lists, dicts and lists of modules that an object keeps: what methods put into one is what others find in it.

So is what functions put into one of an object that has a name: ``policy.rewards.append(r)``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from torchdevlint.flow.scope.loop_rounds import FILLS
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.joins import alternatives, blurred, element_of, is_module, join_all
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import MAX_MEMBERS, UNKNOWN, Const, Library, Map, Obj, Seq, Value
from torchdevlint.source.nodes import nodes_in, once_a_node


def note(frame: Frame, state: State, node: ast.expr, value: Value) -> None:
    """``self.outputs.append(x)`` and ``self.outputs[name] = x``, where `node` is the list or dict.

    It may be a list in a dict as well: ``self.losses["train"]``.
    """
    kept = node.value if isinstance(node, ast.Subscript) else node
    if not isinstance(kept, ast.Attribute) or not isinstance(kept.value, ast.Name):
        return
    if _own(kept) is not None:
        holder = frame.owner
    else:
        held = frame.evaluate(kept.value, state)
        holder = held.info if isinstance(held, Obj) else None
    if holder is not None:
        name = kept.attr if node is kept else _item(kept.attr, node.slice)  # type: ignore[attr-defined]
        holder.appended.setdefault(name, {})[node] = value


def note_item(frame: Frame, state: State, target: ast.Subscript, base: Value, position: Value, value: Value) -> None:
    """``self.outputs[name] = x``: in a dict, where a constant key tells it apart, or in a container of modules."""
    if isinstance(base, Map):
        note(frame, state, target.value, UNKNOWN if isinstance(position, Const) else value)
    elif isinstance(base, Library) and base.name in CONTAINERS:
        note(frame, state, target.value, value)


def note_grown(frame: Frame, state: State, target: ast.expr, base: Value, value: Value) -> bool:
    """``self.layers += [layer]``, by which a container of modules grows in place."""
    grows = isinstance(base, Library) and base.name in CONTAINERS
    if grows:
        note(frame, state, target, element_of(value))
    return grows


def _item(name: str, key: ast.expr) -> str:
    """What an item of a dict is called; nobody knows which one it is without a constant key."""
    return f"{name}[{key.value!r}]" if isinstance(key, ast.Constant) else f"{name}[]"


def begins_empty(value: Value | None) -> bool:
    """Whether every method that assigns the list or dict makes it an empty one, or a dict of empty lists.

    A container of modules grows as well where it was made of some: what is put into it later is found beside them.
    """
    if type(value) is Library:
        return value.name in CONTAINERS
    if type(value) is Map:
        return value.closed and all(_is_empty_list(each) for _, each in value.items)
    return _is_empty_list(value)


def _is_empty_list(value: Value | None) -> bool:
    return type(value) is Seq and value.items == ()


def appenders(info: ClassInfo, name: str) -> tuple[ast.AST, ...]:
    """The methods of a class that put something into the list or dict ``self.name``."""
    return _appenders(info.node).get(name, ())


def filled(info: ClassInfo, name: str, empty: Value, register: Callable[[Value], Value]) -> Value:
    """The list or dict with what was put into it, if that is one kind of thing; `register` is what a Module does."""
    values = list(info.appended.get(name, {}).values())
    if isinstance(empty, Library):
        held = [register(each) for each in (*empty.children, *values)]
        return replace(empty, children=(_one_module(held),)) if values else empty
    if isinstance(empty, Map) and empty.items:
        return empty if values else _with_items(info, name, empty)
    element = blurred(join_all(values))
    if element == UNKNOWN:
        layer = _one_module(values)
        return empty if layer == UNKNOWN or isinstance(empty, Map) else Seq(None, layer)
    if isinstance(empty, Map):
        return Map((), element)
    return Seq(None, element, tuple(dict.fromkeys(values))[:MAX_MEMBERS])


def _one_module(values: list[Value]) -> Value:
    """The module that an item is: of one class, or of one of two that the arms of a constructor choose from.

    What is put there in several places is told apart by where it is taken out.
    """
    found = join_all(values)
    kinds = [each for _, each in alternatives(found)]
    alike = len({each.device is None for each in kinds if isinstance(each, (Library, Obj))}) == 1
    few = len(kinds) == 1 or (len(kinds) <= _MANY_KINDS and len(values) == 1)
    return found if few and alike and all(map(is_module, kinds)) else UNKNOWN


_MANY_KINDS = 2
CONTAINERS = ("torch.nn.ModuleList", "torch.nn.ModuleDict")


def _with_items(info: ClassInfo, name: str, empty: Map) -> Map:
    """A dict of empty lists with what was put into each; what was put into one of them may be in any."""
    somewhere = list(info.appended.get(f"{name}[]", {}).values())
    items: list[tuple[Any, Value]] = []
    for key, each in empty.items:
        put = list(info.appended.get(f"{name}[{key!r}]", {}).values())
        element = blurred(join_all([*put, *somewhere]))
        members = tuple(dict.fromkeys(put))[:MAX_MEMBERS]
        items.append((key, each if element == UNKNOWN else Seq(None, element, members)))
    return Map(tuple(items), empty.element, empty.closed)


@once_a_node
def _appenders(node: ast.ClassDef) -> dict[str, tuple[ast.AST, ...]]:
    found: dict[str, dict[ast.AST, None]] = {}
    for method in node.body:
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for call in nodes_in(method, ast.Call):
                appends = isinstance(call.func, ast.Attribute) and call.func.attr in FILLS
                kept = call.func.value if appends else call  # type: ignore[attr-defined]
                name = _own(kept.value if isinstance(kept, ast.Subscript) else kept)
                if name is not None:
                    found.setdefault(name, {})[method] = None
            for grown in nodes_in(method, ast.AugAssign):
                name = _own(grown.target)
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
