"""Reads by NumPy of what a function calculates of an argument, of which it brings another result to the CPU.

``means, stds = x.mean(1), x.std(1)``, and then ``stds.cpu().numpy()`` beside ``means.numpy()``: both are where `x` is.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import unpacked_to, values_by_path
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.brought_reads import brought_in, is_of_data, read_name
from torchdevlint.flow.scope.names import parameter_names, public_path
from torchdevlint.flow.scope.place_tests import asks_before, exclude
from torchdevlint.flow.scope.uses import Scope, bindings_in
from torchdevlint.source.nodes import nodes_in, once_a_node

_DEEP = 8
"""How many bindings are followed to what a name was calculated of."""
_SAVED = "saved_tensors"


def brought_of_origin(function: Scope, read: ast.Call) -> ast.Call | None:
    """What is brought to the CPU, and was calculated of the argument that ``x.numpy()`` reads something of."""
    name = read_name(read)
    if not name or is_of_data(name) or not brought_in(function) or asks_before(function, read):
        return None
    origin = _origins(function).get(name) or _origin(function, ast.Name(name, ast.Load()))
    if not origin or is_bookkeeping(origin):
        return None
    alike = (
        each
        for other, found in _brought_by_name(function).items()
        if other != name and _origin(function, ast.Name(other, ast.Load())) == origin
        for each in found
    )
    return next((each for each in alike if not exclude(function, read, each)), None)


def _brought_by_name(function: Scope) -> dict[str, list[ast.Call]]:
    found: dict[str, list[ast.Call]] = {}
    for calls in brought_in(function).values():
        for call in calls:
            if name := root_of_calculated(call, to_host=True):
                found.setdefault(name, []).append(call)
    return {name: calls for name, calls in found.items() if not is_of_data(name)}


@once_a_node
def _origins(function: Scope) -> dict[str, str]:
    """What is unpacked of the tensors that an autograd Function has kept, by name."""
    return {
        each.id: _SAVED
        for each in nodes_in(function, ast.Name)
        if isinstance(each.ctx, ast.Store) and any(_is_saved(value) for _, value in unpacked_to(function, each.id))
    }


def _is_saved(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == _SAVED


def _origin(function: Scope, node: ast.expr) -> str:
    """The argument that something is calculated of, by methods and functions of torch alone; nothing if there is none.

    What is a part of it by a key is a thing of its own, and so is what another function makes of it.
    """
    for _ in range(_DEEP):
        root = root_of_calculated(node)
        if not root or root in _origins(function):
            return _origins(function).get(root, "")
        bound = sum(binds for _, binds, _ in bindings_in(function).get(root, ()))
        values = values_by_path(function).get(root, [])
        if not bound:
            is_given = isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and root in parameter_names(
                function
            )
            return root if is_given and root != "self" else ""
        if bound > 1 or len(values) != 1:
            return ""
        node = values[0]
    return ""


def root_of_calculated(node: ast.expr, to_host: bool = False) -> str:
    """`x` of ``torch.isnan(x.reshape(1, -1)).any(1)``; nothing where a key, or an attribute, is asked for.

    Nor where it is copied, but if that is what is looked for.
    """
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call) and public_path(node.func).startswith("torch."):
            if not node.args:
                return ""
            node = node.args[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _COPIES and not to_host:
                return ""
            node = node.func.value
        elif _is_part(node):
            node = node.value  # type: ignore[attr-defined]
        else:
            return ""
    return node.id


_COPIES = frozenset({"cpu", "to", "cuda", "numpy", "item", "tolist"})


def _is_part(node: ast.expr) -> bool:
    """``x[i]``, ``x.data``: a part that is where the whole is."""
    if isinstance(node, ast.Subscript):
        return not isinstance(node.slice, ast.Constant)
    return isinstance(node, ast.Attribute) and node.attr in ("data", "T")
