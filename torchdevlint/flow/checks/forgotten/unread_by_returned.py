"""Devices that a function is told, and never reads, though what it gives or runs was to be there (TDL310).

``def _checked(self, weights, device)`` that gives ``weights.contiguous()`` back, which the class calls with
``device=x.device``; and ``def tune(image, model, device)``, in which a function gives ``torch.tensor(x)`` to `model`.
A base, a protocol or a table may say what a function takes, so that such are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from torchdevlint.flow.checks.forgotten.tested_but_left import asks_for_tensor
from torchdevlint.flow.checks.forgotten.unread_devices import fact_of, is_dismissed, told_in
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.annotations import annotated_tensor, without_none
from torchdevlint.flow.scope.decorators import is_plain
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.names import (
    dotted_path,
    last_name,
    mentions_device,
    parameter_names,
    public_path,
    root_name,
    stem_of,
)
from torchdevlint.flow.scope.parameters import names_given_as_values
from torchdevlint.flow.scope.uses import uses_in
from torchdevlint.flow.state.machine import Machine
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import arguments_of, is_name, nodes_in, own_assignments_in, own_nodes_in

_KEEPS = torch_api.NAMED_CONVERSIONS | frozenset({"contiguous", "clone", "detach", "to"})
_PLACES = torch_api.PLACING_METHODS | {"device"}
_OF_DATA = torch_api.DATA_FACTORIES | torch_api.LEGACY_CONSTRUCTORS | {"from_numpy"}


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not imports_torch(machine.tree):
        return
    for function in functions_in(machine.tree):
        told = told_in(function) if is_plain(function) else None
        if told is None or told.asked or is_dismissed(machine, function, told.name):
            continue
        owner = next((each for each in nodes_in(machine.tree, ast.ClassDef) if function in each.body), None)
        if _is_imposed(machine, function, owner):
            continue
        name = f"{owner.name}.{function.name}" if owner is not None else function.name
        made = _made_for_model(function)
        if made is not None:
            fact = partial(fact_of, machine, name, told, "unread", made, public_path(made.func))
        elif _gives_argument(machine.tree, function):
            fact = partial(fact_of, machine, name, told, "mover", told.node, name)
        else:
            continue
        machine.record_anyway(("unread device", function, told.name), fact)


def _is_imposed(machine: Machine, function: FunctionNode, owner: ast.ClassDef | None) -> bool:
    """Whether others say what the function takes: a base, a table, a command line, a test runner."""
    special = function.name.startswith(("test", "__")) or function.name in ("main", "forward")
    if special or function.name in names_given_as_values(machine.tree):
        return True
    infos = machine.classes.values() if owner is not None else ()
    own = next((each for each in infos if each.node is owner), None)
    if owner is None:
        return False
    if own is None or not own.resolved:
        return True
    return any(each is not own and function.name in each.methods for each in infos)


def _gives_argument(tree: ast.Module, function: FunctionNode) -> bool:
    """Whether all that it returns is a tensor as it was given, though a call in the file says where to."""
    said = (each for each in nodes_in(function, ast.Attribute) if each.attr in _PLACES)
    if any(public_path(each) != "torch.device" for each in said):
        return False
    returned = [each.value for each in own_nodes_in(function, ast.Return) if each.value is not None]
    names = {_kept(each) for each in returned}
    name = names.pop() if len(names) == 1 else ""
    if name not in parameter_names(function) or name == "self" or not _is_tensor(function, name):
        return False
    bound = [each for each in own_assignments_in(function) if any(is_name(one, name) for one in each.targets)]
    if any(root_name(_started(each.value)) != name for each in bound):
        return False
    calls = (each for each in nodes_in(tree, ast.Call) if last_name(each.func) == function.name)
    return any(mentions_device(last_name(one)) for each in calls for one in arguments_of(each))


def _kept(node: ast.expr) -> str:
    """`x` of ``x.contiguous()``."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPS:
        node = node.func.value
    return node.id if isinstance(node, ast.Name) else ""


def _started(node: ast.expr) -> ast.expr:
    """`x` of ``x[:, None].expand(2, 3)``."""
    while isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        node = node.value if isinstance(node, ast.Subscript) else stem_of(node)
    return node


def _is_tensor(function: FunctionNode, name: str) -> bool:
    said = next((each.annotation for each in nodes_in(function.args, ast.arg) if each.arg == name), None)
    if said is not None and annotated_tensor(without_none(said)):
        return True
    asked = (each for each in nodes_in(function, ast.Call) if asks_for_tensor(each))
    uses = uses_in(function).get(name)
    return any(dotted_path(each.args[0]) == name for each in asked) or (uses is not None and uses.is_tensor)


def _made_for_model(function: FunctionNode) -> ast.Call | None:
    """What a function in it makes of data, and gives to what the outer one was given to call: ``model(image)``."""
    callees = parameter_names(function) - {"self", "cls"}
    for inner in nodes_in(function, ast.FunctionDef):
        made = dict(_made_in(inner)) if inner is not function else {}
        for call in nodes_in(inner, ast.Call) if made else ():
            if isinstance(call.func, ast.Name) and call.func.id in callees - parameter_names(inner):
                for given in call.args:
                    if isinstance(given, ast.Name) and given.id in made:
                        return made[given.id]
    return None


def _made_in(function: ast.FunctionDef) -> Iterator[tuple[str, ast.Call]]:
    """``image = torch.tensor(x).float()``, which is bound once, by its name."""
    for each in own_assignments_in(function):
        value, target = each.value, each.targets[0]
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _SHAPES:
            value = value.func.value
        head, _, tail = public_path(value.func).rpartition(".") if isinstance(value, ast.Call) else ("", "", "")
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Call) or head != "torch":
            continue
        if tail in _OF_DATA and not any(keyword.arg in ("device", None) for keyword in value.keywords):
            yield target.id, value


_SHAPES = torch_api.NAMED_CONVERSIONS | frozenset({"unsqueeze", "reshape", "view", "permute", "contiguous"})

SAYING = ("device",)
EVENTS = {FileEnded: _note_end}
