"""Copies of the parameters of a model, and where they meet the parameters themselves, by the text of functions.

``shadow[name] = parameter.clone()`` in one method, ``shadow[name] * decay + parameter * (1 - decay)`` in another.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge.torch_api import MOVE_METHODS
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.source.nodes import assignments_in, inside, nodes_in

_PARTS = frozenset({"parameters", "named_parameters", "state_dict", "buffers", "named_buffers"})
_COPIES = frozenset({"clone", "deepcopy"})
_PLACES = MOVE_METHODS | {"type_as", "cpu", "item"}
_MEETS = frozenset({"add_", "sub_", "mul_", "div_", "lerp_", "addcmul_", "lerp", "add", "sub"})
"""Methods that refuse a tensor from elsewhere; ``copy_`` takes it."""

_WITH_NAMES = frozenset({"named_parameters", "named_buffers", "items"})

COPY, LIVE = "copy", "live"
Kinds = dict[str, str]


def copies_in(method: ast.AST, live: set[str]) -> set[str]:
    """The names and attributes that a function fills with copies of the parameters of what stands under `live`."""
    kinds = _kinds_in(method, set(), live)
    found = {path for path, values in values_by_path(method).items() if any(_is_copy(each, kinds) for each in values)}
    for assign in assignments_in(method):
        for target in assign.targets:
            path = dotted_path(target.value) if isinstance(target, ast.Subscript) else None
            if path is not None and _is_copy(assign.value, kinds):
                found.add(path)
    appended = (each for each in nodes_in(method, ast.Call) if last_name(each.func) == "append" and each.args)
    for call in appended:
        path = dotted_path(call.func.value) if isinstance(call.func, ast.Attribute) else None
        if path is not None and _is_copy(call.args[0], kinds):
            found.add(path)
    return found


def _is_copy(value: ast.expr, kinds: Kinds) -> bool:
    """Whether an expression copies parameters, and moves nothing."""
    called = _called_in(value)
    return bool(called & _COPIES) and not called & _PLACES and _kind_of(value, _with_targets(value, kinds)) == LIVE


def meeting_in(function: ast.AST, copies: set[str], live: set[str], after: int = 0) -> tuple[ast.expr, ast.expr] | None:
    """The first operation behind a line that takes a copy and a parameter together, and the copy in it."""
    kinds = _kinds_in(function, copies, live)
    for node in (each for each in inside(function) if getattr(each, "lineno", 0) > after):
        sides = _sides(node)
        held = [_placed_kind(each, kinds) for each in sides]
        if set(held) == {COPY, LIVE}:
            return node, sides[held.index(COPY)]
    return None


def _sides(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MEETS and node.args:
        return [node.func.value, node.args[0]]
    return []


def _placed_kind(node: ast.expr, kinds: Kinds) -> str:
    moves = not _called_in(node).isdisjoint(_PLACES)
    return "" if moves else _kind_of(node, kinds)


def _kind_of(node: ast.AST, kinds: Kinds) -> str:
    """What an expression is made of: copies, parameters, or neither; nothing where it is made of both."""
    found = {kinds.get(dotted_path(each) or "", "") for each in inside(node)} - {""}
    return found.pop() if len(found) == 1 else ""


def _kinds_in(function: ast.AST, copies: set[str], live: set[str]) -> Kinds:
    """Which names stand for copies, and which for parameters."""
    kinds = {**dict.fromkeys(copies, COPY), **dict.fromkeys(live, LIVE)}
    for assign in assignments_in(function):
        target, value = assign.targets[0], assign.value
        asked = not _called_in(value).isdisjoint(_PARTS)
        if isinstance(target, ast.Name) and asked and _called_in(value).isdisjoint(_COPIES):
            kinds[target.id] = _kind_of(value, kinds)
    loops: list[ast.For | ast.comprehension] = [*nodes_in(function, ast.For), *nodes_in(function, ast.comprehension)]
    for loop in loops:
        kinds |= _bound_by(loop.target, loop.iter, kinds)
    return kinds


def _called_in(node: ast.expr) -> set[str]:
    return {last_name(each.func) for each in inside(node) if isinstance(each, ast.Call)}


def _with_targets(value: ast.expr, kinds: Kinds) -> Kinds:
    """The same, with what a comprehension binds."""
    found = dict(kinds)
    for each in (one for one in inside(value) if isinstance(one, ast.comprehension)):
        found |= _bound_by(each.target, each.iter, found)
    return found


def _bound_by(target: ast.expr, source: ast.expr, kinds: Kinds) -> Kinds:
    """What the target of a loop stands for; of names with values, the names are texts."""
    if isinstance(source, ast.Call) and isinstance(target, ast.Tuple):
        callee = last_name(source.func)
        if callee == "zip":
            found = [_bound_by(one, each, kinds) for one, each in zip(target.elts, source.args, strict=False)]
            return {name: kind for each in found for name, kind in each.items()}
        if callee == "enumerate" and source.args:
            return _bound_by(target.elts[-1], source.args[0], kinds)
        if callee in _WITH_NAMES:
            target = target.elts[-1]
    kind = _kind_of(source, kinds)
    return {name.id: kind for name in inside(target) if isinstance(name, ast.Name) and kind}
