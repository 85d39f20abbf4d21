"""Modules that a function makes for a part of a model, of the dtype of that and not in its place (TDL310).

``fast = FastAttention(block.attn.dim).to(block.attn.qkv.weight.dtype); block.attn = fast``: whoever replaces a part of
a model that came from outside cannot know where it is, and asks it for its dtype alone. What is moved, is told a
device, or goes into a model that the function moves, has its place; so has what ``__init__`` makes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import (
    dotted_path,
    last_name,
    mentions_device,
    parameter_names,
    public_path,
    root_name,
)
from torchdevlint.flow.state.machine import Machine
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import arguments_of, inside, is_name, nodes_in, own_assignments_in, own_nodes_in

_PLACES = torch_api.PLACING_METHODS - {"to"}


def look(machine: Machine) -> None:
    """Record what is left so in a file that moves something."""
    for function in functions_in(machine.tree) if "dtype" in machine.words else ():
        if function.name != "__init__":
            for name, made, dtype in _typed(function):
                if _replaces(function, name, dtype) and not _is_moved(function, name):
                    record(machine, function, "typed", made, dtype, at=made, name=name)


def _typed(function: FunctionNode) -> Iterator[tuple[str, ast.Call, ast.expr]]:
    """``new = Layer(3).to(old.weight.dtype)``, where nothing says a device: the name, the call, and the old weight."""
    for each in own_assignments_in(function):
        target, value, dtype = each.targets[0], each.value, None
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _CHAINED:
            dtype = dtype or next(filter(None, map(_asked_for_dtype, arguments_of(value))), None)
            value = value.func.value
        if dtype is None or not isinstance(value, ast.Call) or not isinstance(target, ast.Name):
            continue
        is_class = last_name(value.func)[:1].isupper() and public_path(value.func).rpartition(".")[0] != "torch"
        if is_class and not any(_says_device(one) for one in inside(each.value)):
            yield target.id, value, dtype


_CHAINED = torch_api.MODULE_MODES | {"to", "requires_grad_"}


def _asked_for_dtype(node: ast.expr) -> ast.expr | None:
    """`old.weight` of ``old.weight.dtype``."""
    asked = isinstance(node, ast.Attribute) and node.attr == "dtype"
    return node.value if asked and isinstance(node.value, ast.Attribute) else None  # type: ignore[attr-defined]


def _says_device(node: ast.AST) -> bool:
    word = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    word = (node.arg or "**device") if isinstance(node, ast.keyword) else word
    return mentions_device(word) or word in _PLACES


def _replaces(function: FunctionNode, name: str, dtype: ast.expr) -> bool:
    """Whether it is put into what came from outside, as the weight did: by an assignment, or by `setattr`."""
    root = root_name(dtype)
    if root in ("", "self"):
        return False
    for each in own_assignments_in(function):
        target = each.targets[0]
        if is_name(each.value, name) and isinstance(target, ast.Attribute) and root_name(target) != "self":
            return True
    for call in own_nodes_in(function, ast.Call):
        if dotted_path(call.func) == "setattr" and len(call.args) == 3 and is_name(call.args[2], name):
            return not is_name(call.args[0], "self") or "self" not in parameter_names(function)
    return False


def _is_moved(function: FunctionNode, name: str) -> bool:
    """Whether it, or all of something, is moved, or given to who is told a place."""
    for call in nodes_in(function, ast.Call):
        method = call.func if isinstance(call.func, ast.Attribute) else None
        told = any(_says_device(each) for given in arguments_of(call) for each in inside(given))
        if method is not None and (method.attr in _PLACES or (method.attr == "to" and told)):
            return True
        if told and any(is_name(each, name) for each in arguments_of(call)):
            return True
    return False
