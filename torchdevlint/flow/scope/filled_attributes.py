"""Containers of an object that its class fills with what it brought to the host: ``self.kept.append(x.cpu())``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, places_in
from torchdevlint.source.nodes import assignments_in, inside, nodes_in, once_a_node

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FILLS = frozenset({"append", "extend", "insert", "add", "update", "setdefault"})
_TO_HOST = frozenset({"cpu", "numpy", "item", "tolist"})
_MOST_HOPS = 3


@once_a_node
def filled_on_host(owner: ast.ClassDef) -> frozenset[str]:
    """The attributes of `self` into which methods of a class put tensors of the CPU, arrays or numbers."""
    methods = [each for each in owner.body if isinstance(each, _FUNCTIONS)]
    return frozenset(
        path.removeprefix("self.")
        for method in methods
        for path, value in _put(method)
        if path.startswith("self.") and _is_brought(value, method)
    )


def _put(method: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for call in nodes_in(method, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _FILLS and call.args:
            yield dotted_path(call.func.value) or "", call.args[-1]
    for node in assignments_in(method):
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                yield dotted_path(target.value) or "", node.value


def _is_brought(value: ast.expr, method: ast.AST, hops: int = _MOST_HOPS) -> bool:
    """Whether something in an expression, or in what its names are bound to there, is brought to the host."""
    parts = list(inside(value))
    if any(isinstance(each, ast.Call) and _brings(each) for each in parts):
        return True
    names = (each.id for each in parts if isinstance(each, ast.Name))
    bound = (each for name in names for each in values_by_path(method).get(name, ()))
    return hops > 0 and any(_is_brought(each, method, hops - 1) for each in bound)


def _brings(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    return call.func.attr in _TO_HOST or (call.func.attr == "to" and any(map(is_cpu_spec, places_in(call))))
