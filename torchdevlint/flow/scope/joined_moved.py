"""What is made of tensors that were moved before: ``torch.stack([x.to(device) for x in xs])`` is where they are.

What pads, stacks or joins a list puts its result where the elements are, whether they were moved as they were put into
the list, in a comprehension, or by a name of their own. A factory copies to the CPU wherever they are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import (
    dotted_path,
    is_cpu_spec,
    is_dtype,
    last_name,
    mentions_device,
    places_in,
    public_path,
)
from torchdevlint.source.nodes import arguments_of, assignments_in, nodes_in, once_a_node

_FACTORIES = torch_api.FACTORIES | torch_api.LEGACY_CONSTRUCTORS | torch_api.DATA_FACTORIES
_PUTS = frozenset({"append", "extend", "insert"})
_OF_ITEMS = frozenset({"list", "tuple", "reversed", "sorted", "enumerate", "zip"})
_TO_HOST = frozenset({"cpu", "numpy", "tolist", "item"})


class _Bound(NamedTuple):
    """A value that a name is bound to, or that is `put` into what it stands for."""

    value: ast.expr
    put: bool


def is_joined_of_moved(scope: ast.AST, node: ast.expr) -> bool:
    """Whether a function of torch makes it, or all that a name was bound to last, of what was moved before."""
    if isinstance(node, ast.Name):
        last = _last(scope, node.id, node)
        return bool(last) and all(isinstance(each, ast.Call) and is_joined_of_moved(scope, each) for each in last)
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not _is_of_torch(node):
        if node.func.attr in _TO_HOST or node.func.attr in torch_api.MOVE_METHODS:
            return False
        node = node.func.value
    return isinstance(node, ast.Call) and _is_of_torch(node) and _is_there(scope, node, set())


def _is_of_torch(call: ast.Call) -> bool:
    return public_path(call.func).startswith("torch.")


def _is_there(scope: ast.AST, node: ast.expr, seen: set[ast.expr]) -> bool:
    """Whether an expression, or each element of it, is on the device to which a move in the function brings it.

    What was `seen` decides where it was.
    """
    if node in seen:
        return True
    seen.add(node)
    if isinstance(node, ast.Call):
        return _is_given_there(scope, node, seen)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return _is_there(scope, node.elt, seen)
    if isinstance(node, (ast.List, ast.Tuple)):
        return bool(node.elts) and all(_is_there(scope, each, seen) for each in node.elts)
    if isinstance(node, (ast.Starred, ast.Subscript)):
        path = dotted_path(node) if isinstance(node, ast.Subscript) else None
        return path is None and _is_there(scope, node.value, seen)
    path = dotted_path(node)
    last = _last(scope, path, node) if path is not None else []
    return bool(last) and all(_is_there(scope, each, seen) for each in last)


def _is_given_there(scope: ast.AST, call: ast.Call, seen: set[ast.expr]) -> bool:
    func, path = call.func, public_path(call.func)
    told = [each for each in arguments_of(call) if mentions_device(last_name(each)) or is_cpu_spec(each)]
    if isinstance(func, ast.Attribute) and func.attr in ("to", "cuda"):
        places = [each for each in places_in(call) if not is_dtype(each) and last_name(each) != "dtype"]
        moves = func.attr == "cuda" or bool(places)
        return not any(map(is_cpu_spec, places)) if moves else _is_there(scope, func.value, seen)
    if told:
        return not any(map(is_cpu_spec, told))
    if path.startswith("torch."):
        is_new = path.removeprefix("torch.") in _FACTORIES
        return not is_new and any(_is_there(scope, each, seen) for each in arguments_of(call)[:1])
    if path.removeprefix("builtins.") in _OF_ITEMS:
        return bool(call.args) and all(_is_there(scope, each, seen) for each in call.args)
    if path.removeprefix("builtins.") == "map" and call.args:
        return isinstance(call.args[0], ast.Lambda) and _is_there(scope, call.args[0].body, seen)
    if isinstance(func, ast.Attribute) and func.attr not in _TO_HOST:
        return _is_there(scope, func.value, seen)
    return False


def _last(scope: ast.AST, path: str, node: ast.expr) -> list[ast.expr]:
    """What a name was bound to last before `node`; what was put into that since then, where something was."""
    before = [each for each in _bound(scope).get(path, ()) if _is_before(each.value, node)]
    made = max((each.value.lineno for each in before if not each.put), default=0)
    put = [each.value for each in before if each.put and each.value.lineno >= made]
    return put or [each.value for each in before if not each.put and each.value.lineno == made]


def _is_before(value: ast.expr, node: ast.expr) -> bool:
    """Whether a value is written on a line before, or on the same one, and does not hold the node itself."""
    start, end = (value.lineno, value.col_offset), (value.end_lineno or 0, value.end_col_offset or 0)
    return value.lineno <= node.lineno and not start <= (node.lineno, node.col_offset) < end


@once_a_node
def _bound(scope: ast.AST) -> dict[str, list[_Bound]]:
    """What names are bound to, and what is put into what they stand for."""
    found: dict[str, list[_Bound]] = {}
    for path, value, put in _bindings(scope):
        if path is not None:
            found.setdefault(path, []).append(_Bound(value, put))
    return found


def _bindings(scope: ast.AST) -> Iterator[tuple[str | None, ast.expr, bool]]:
    for each in assignments_in(scope):
        for target in each.targets:
            is_item = isinstance(target, ast.Subscript) and dotted_path(target) is None
            yield dotted_path(target.value if is_item else target), each.value, is_item  # type: ignore[attr-defined]
    loops: list[ast.For | ast.comprehension] = [*nodes_in(scope, ast.For), *nodes_in(scope, ast.comprehension)]
    for loop in loops:
        yield dotted_path(loop.target), loop.iter, False
    for call in nodes_in(scope, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _PUTS and call.args:
            yield dotted_path(call.func.value), call.args[-1], True
