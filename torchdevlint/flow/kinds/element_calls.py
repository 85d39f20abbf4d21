"""Whether a class calls what one of its container attributes holds, as layers are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path, first_name, whole_of
from torchdevlint.flow.scope.uses import asked_in
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.source.nodes import assignments_in, inside, nodes_in

_WRAPS_LOOPS = frozenset({"enumerate", "zip", "reversed", "tqdm", "list", "tuple", "sorted", "iter"})


def calls_elements(info: ClassInfo, attribute: str) -> bool:
    """Whether a method calls the elements of ``self.<attribute>``: by index, in a loop, or through `map`."""
    path = f"self.{attribute}"
    methods = [
        method
        for name, method in info.methods.items()
        if name not in ("__init__", "__call__") and first_name(attribute) in asked_in(method).get("self", ())
    ]
    return any(_is_called_in(method, each) for method in methods for each in (path, *_chosen_from(method, path)))


def _chosen_from(method: ast.AST, path: str) -> Iterator[str]:
    """The local names of the container, and of lists into which a method puts elements of it."""
    for node in assignments_in(method):
        if dotted_path(node.value) == path:
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
    elements = _names_of_elements(method, path)
    for call in nodes_in(method, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "append" and len(call.args) == 1:
            put, into = call.args[0], call.func.value
            chosen = isinstance(put, ast.Subscript) and _container_path(put) == path
            if isinstance(into, ast.Name) and (chosen or (isinstance(put, ast.Name) and put.id in elements)):
                yield into.id


def _is_called_in(method: ast.AST, path: str) -> bool:
    names = _names_of_elements(method, path)
    for call in nodes_in(method, ast.Call):
        callee = call.func
        if isinstance(callee, ast.Attribute) and callee.attr.startswith("forward"):
            callee = callee.value
        if isinstance(callee, ast.Name) and callee.id in names:
            return True
        if isinstance(callee, ast.Subscript) and _container_path(callee) == path:
            return True
        if dotted_path(call.func) == "map" and call.args and isinstance(call.args[0], ast.Lambda):
            places = [place for place, each in enumerate(call.args[1:]) if dotted_path(each) == path]
            given = call.args[0].args.args
            taken = {given[place].arg for place in places if place < len(given)}
            if any(
                isinstance(each.func, ast.Name) and each.func.id in taken for each in nodes_in(call.args[0], ast.Call)
            ):
                return True
    return False


def _container_path(node: ast.expr) -> str | None:
    return dotted_path(whole_of(node))


def _names_of_elements(method: ast.AST, path: str) -> set[str]:
    """The names that an element is bound to: by a loop over the container, or by taking one out of it."""
    found: set[str] = set()
    loops: list[ast.For | ast.comprehension] = [*nodes_in(method, ast.For), *nodes_in(method, ast.comprehension)]
    for loop in loops:
        found |= set(bound_by(loop.target, loop.iter, path))
    for node in assignments_in(method):
        if isinstance(node.value, ast.Subscript) and _container_path(node.value) == path:
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def bound_by(target: ast.expr, source: ast.expr, path: str) -> Iterator[str]:
    """The names in a loop's target that stand for elements of the container."""
    if isinstance(source, ast.Subscript) and isinstance(source.slice, ast.Slice):
        source = source.value
    if dotted_path(source) == path:
        yield from _names_in(target)
    if not isinstance(source, ast.Call):
        return
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    callee = dotted_path(source.func) or ""
    if isinstance(source.func, ast.Attribute) and dotted_path(source.func.value) == path:
        if source.func.attr == "values":
            yield from _names_in(target)
        elif source.func.attr == "items" and len(parts) == 2:
            yield from _names_in(parts[1])
    elif callee == "enumerate" and source.args and len(parts) == 2:
        yield from bound_by(parts[1], source.args[0], path)
    elif callee == "zip" and len(parts) == len(source.args):
        for part, each in zip(parts, source.args, strict=True):
            yield from bound_by(part, each, path)
    elif callee in _WRAPS_LOOPS and source.args:
        yield from bound_by(target, source.args[0], path)


def _names_in(target: ast.expr) -> Iterator[str]:
    return (node.id for node in inside(target) if isinstance(node, ast.Name))
