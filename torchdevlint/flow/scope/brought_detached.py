"""Reads by NumPy of what is detached, in a function that brings something else to the CPU.

What is detached has come from a model, or is a parameter. Who brings ``loss.cpu()`` there works with an accelerator,
where also is what ``x[0].detach().float().numpy()`` reads.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import unpacked_to, values_by_path
from torchdevlint.flow.scope.brought_reads import brought_in, is_of_data
from torchdevlint.flow.scope.names import public_path
from torchdevlint.flow.scope.place_tests import asks_before, exclude
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.source.nodes import inside, is_name, nodes_in, once_a_node

_COPIES = frozenset({"cpu", "to", "cuda", "item", "tolist"})


def brought_beside_detached(function: Scope, read: ast.Call) -> ast.Call | None:
    """What a function brings to the CPU that reads ``x.detach().numpy()``; None where only one of them can run.

    What a loop goes through may be data, and so may what is called like labels, unless a call has made it. What an
    object holds that another one holds may be anywhere, and a parameter of a model is where other code says.
    """
    brought = brought_in(function)
    if not brought:
        return None
    stem = _stem_of_detached(read)
    if stem is None or asks_before(function, read) or _is_apart(function, stem):
        return None
    others = (each for calls in brought.values() for each in calls if each is not read)
    return next((each for each in others if not exclude(function, read, each)), None)


def _stem_of_detached(read: ast.Call) -> ast.expr | None:
    """``self.x`` of ``self.x[0].detach().float().numpy()``; None of what is not detached, or is copied."""
    node: ast.expr = read
    methods: list[str] = []
    while True:
        method = node.func if isinstance(node, ast.Call) else node
        if isinstance(method, ast.Attribute) and _is_step(method, node):
            methods.append("" if method.attr == "detach" and node.args else method.attr)  # type: ignore[attr-defined]
            node = method.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            break
    is_detached = methods[0] == "numpy" and not {"detach", "data"}.isdisjoint(methods)
    return node if is_detached and _COPIES.isdisjoint(methods) and not _is_copied(node) else None


def _is_step(method: ast.Attribute, node: ast.expr) -> bool:
    """Whether it is a method of tensors that is called, or ``.data``."""
    if method is node:
        return method.attr == "data"
    return torch_api.is_of_tensors(method.attr) and not public_path(method).startswith(("torch.", "numpy."))


def _is_copied(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr in ("cpu", "numpy") for each in inside(node))


def _is_apart(function: Scope, stem: ast.expr) -> bool:
    """Whether it may be elsewhere than what else is read: what a loop goes through, what is called like labels."""
    if isinstance(stem, ast.Name):
        return stem.id in _looped(function) or (is_of_data(stem.id) and not _is_made(function, stem.id))
    return isinstance(stem, ast.Attribute) and (is_of_data(stem.attr) or not is_name(stem.value, "self"))


def _is_made(function: Scope, name: str) -> bool:
    """Whether a function calculates what it binds a name to."""
    made = values_by_path(function).get(name, []) + [value for _, value in unpacked_to(function, name)]
    return bool(made) and all(isinstance(each, ast.Call) for each in made)


@once_a_node
def _looped(function: Scope) -> frozenset[str]:
    """The names that loops and comprehensions bind."""
    targets = [each.target for each in nodes_in(function, ast.For)]
    targets += [each.target for each in nodes_in(function, ast.comprehension)]
    return frozenset(each.id for target in targets for each in inside(target) if isinstance(each, ast.Name))
