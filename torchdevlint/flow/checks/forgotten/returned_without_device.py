"""What a function returns without the device that it is told, and makes the tensors beside it on (TDL310).

``index = torch.arange(n, device=device); mask = torch.zeros(n, n); mask[index, index] = 1; return mask``: who tells a
device expects the result there. Where the device is for anything but to make tensors, such as a model that runs there,
the result may be meant for the CPU.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.decorators import is_plain
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.names import dotted_path, parameter_names, public_path
from torchdevlint.flow.scope.none_tests import none_test
from torchdevlint.flow.scope.parameters import reads_all
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.returned_factories import returned_factory
from torchdevlint.flow.scope.same_size import told_place
from torchdevlint.flow.scope.two_arms import is_chosen_between
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import inside, nodes_in, own_nodes_in

_MAKES = frozenset(f"torch.{each}" for each in torch_api.FACTORIES | torch_api.DATA_FACTORIES)
_HOST = frozenset({"cpu", "numpy", "item", "tolist"})


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not imports_torch(machine.tree):
        return
    for function in functions_that_place(machine.tree):
        made = returned_factory(function) if is_plain(function) and function not in machine.pipeline else None
        told = _told(function) if made is not None else None
        if told is None or made is None or is_chosen_between(function, made, told):
            continue
        if "device" in parameter_names(function) or not _is_of_indices(function):
            record(machine, function, "beside", made, told, at=made)


def _is_of_indices(function: FunctionNode) -> bool:
    """Whether what a function gives may stay on the CPU, by its name: lengths, indices."""
    returned = [dotted_path(each.value) or "" for each in own_nodes_in(function, ast.Return) if each.value is not None]
    return any(map(is_bookkeeping, [function.name, *returned]))


def _told(function: FunctionNode) -> ast.Call | None:
    """The first tensor that is made on the one device of a function, if that is all that it does with it."""
    if reads_all(function) or any(each.attr in _HOST for each in nodes_in(function, ast.Attribute)):
        return None
    calls = [each for each in own_nodes_in(function, ast.Call) if public_path(each.func) in _MAKES]
    told = [(each, place) for each in calls if (place := told_place(each)) is not None]
    paths = {dotted_path(place) for _, place in told}
    path = paths.pop() if len(paths) == 1 else None
    if path is None or not _is_of_arguments(function, path):
        return None
    used = {id(place) for _, place in told} | _asked(function)
    read: list[ast.Name | ast.Attribute] = [*nodes_in(function, ast.Name), *nodes_in(function, ast.Attribute)]
    for each in read:
        if isinstance(each.ctx, ast.Load) and id(each) not in used and dotted_path(each) == path:
            return None
    return told[0][0]


def _is_of_arguments(function: FunctionNode, path: str) -> bool:
    """Whether it is what the function is told, or the device of what it is given."""
    names = parameter_names(function)
    root, _, last = path.rpartition(".")
    if root:
        return last == "device" and root in names - {"self", "cls"}
    bound = values_by_path(function).get(path, [])
    if path in names:
        return not bound
    taken = bound[0] if len(bound) == 1 else None
    return isinstance(taken, ast.Attribute) and taken.attr == "device" and dotted_path(taken.value) in names


def _asked(function: FunctionNode) -> set[int]:
    """What is in tests for None."""
    tests = (each.test for each in nodes_in(function, ast.If) if none_test(each.test) is not None)
    return {id(part) for each in tests for part in inside(each)}


SAYING = ("device",)
EVENTS = {FileEnded: _note_end}
