"""Tensors that a function makes of what is on the host and returns in one case, where it moves all others (TDL310).

``if empty: return torch.zeros(size)`` beside ``return torch.from_numpy(x).to(device)``: who gets it cannot tell them
apart. What ``torch.tensor`` makes is left alone, since a single number meets tensors of any device.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.left_in_one_case import is_of_places, says_place
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.names import public_path
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.state.machine import Machine
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import inside, own_nodes_in

_LEAST = 2
_MAKERS = torch_api.SIZE_FACTORIES | {"full", "from_numpy", "Tensor", "FloatTensor", "LongTensor"}
_CONVERT = torch_api.NAMED_CONVERSIONS | torch_api.MOVE_METHODS


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    text = machine.reading.source.text
    if (").to(" not in text and ").cuda(" not in text) or not imports_torch(machine.tree):
        return
    for function in functions_that_place(machine.tree):
        for left, move in _left_in(machine, function):
            record(machine, function, "cases", left, move, at=left)


def _left_in(machine: Machine, function: FunctionNode) -> Iterator[tuple[ast.Call, ast.Call]]:
    values = [each.value for each in own_nodes_in(function, ast.Return) if not _is_none(each.value)]
    if len(values) < _LEAST or not all(isinstance(each, ast.Call) for each in values) or function in machine.pipeline:
        return
    moved = [each for each in values if isinstance(each, ast.Call) and _is_moved(each)]
    left = [each for each in values if isinstance(each, ast.Call) and not _is_moved(each)]
    tests = [each.test for each in own_nodes_in(function, ast.If)]
    tests += [each.test for each in own_nodes_in(function, ast.IfExp)]
    asked = {each.id for test in tests for each in inside(test) if isinstance(each, ast.Name)}
    tests += [value for name in asked for value in values_by_path(function).get(name, ())]
    if len(left) == 1 and moved and _is_made_on_cpu(left[0]) and tests and not is_of_places(tests):
        yield left[0], moved[0]


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _is_moved(call: ast.Call) -> bool:
    """Whether what a call gives was moved at its end: ``x.sum().to(device)``."""
    while isinstance(call.func, ast.Attribute) and call.func.attr in _CONVERT:
        if call.func.attr == "cuda" or (call.func.attr == "to" and says_place(call)):
            return True
        if not isinstance(call.func.value, ast.Call):
            return False
        call = call.func.value
    return False


def _is_made_on_cpu(node: ast.expr) -> bool:
    """``torch.zeros(size)``, ``torch.from_numpy(x).float()``: a tensor, and no number, that is told no device."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CONVERT:
        if says_place(node):
            return False
        node = node.func.value
    if not isinstance(node, ast.Call) or not node.args or any(each.arg in (None, "device") for each in node.keywords):
        return False
    head, _, tail = public_path(node.func).rpartition(".")
    return head == "torch" and tail in _MAKERS and not _is_empty(node.args[0])


def _is_empty(node: ast.expr) -> bool:
    """Whether a size or a list is nothing: ``torch.zeros(0)``, ``torch.Tensor([])``."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return not node.elts
    return isinstance(node, ast.Constant) and node.value == 0


EVENTS = {FileEnded: _note_end}
