"""One of two tensors that a function makes of one size, of which it puts the other one on a device (TDL310).

``mean = torch.zeros(*shape, device=x.device); std = torch.ones(*shape)``: what has one size is there for the same
things, also in a transform of data that asks for a device. What goes to the host, or is moved later, stays for a
reason, and so does what only one arm of a test makes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.same_size import factories_by_size, told_place
from torchdevlint.flow.scope.two_arms import is_chosen_between
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import inside, is_inside, nodes_in, own_assignments_in

_ELSEWHERE = torch_api.MOVE_METHODS | {"type", "type_as", "numpy", "tolist", "item", "pin_memory"}
"""Methods that bring a tensor elsewhere, or read it on the host."""
_OF_PLACES = frozenset({"device", "out", "pin_memory", "generator", None})
"""Arguments of factories that say where, and stars, which may."""
_TAKES_OVER = ("register_buffer", "Parameter", "Buffer", "copy_")


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not imports_torch(machine.tree):
        return
    for function in functions_that_place(machine.tree):
        for left, placed in _alike(function):
            name = _bound_to(function, left)
            kept = not name or not _bound_to(function, placed) or is_chosen_between(function, left, placed)
            if not kept and not _leaves(function, left, name):
                record(machine, function, "beside", left, placed, at=left, name=name)


def _alike(function: FunctionNode) -> Iterator[tuple[ast.Call, ast.Call]]:
    """The factories that are told no device, each with one of the same size that is."""
    for calls in factories_by_size(function):
        told = [each for each in calls if told_place(each) is not None]
        untold = [each for each in calls if all(one.arg not in _OF_PLACES for one in each.keywords)]
        if told and len(untold) == 1:
            yield untold[0], told[0]


def _bound_to(function: FunctionNode, made: ast.Call) -> str:
    """The name of the function that is bound to what is made: an attribute or an entry is for others as well."""
    held = (each for each in own_assignments_in(function) if is_inside(made, each.value))
    return next((each.targets[0].id for each in held if isinstance(each.targets[0], ast.Name)), "")


def _leaves(function: FunctionNode, made: ast.Call, name: str) -> bool:
    """Whether what is made goes elsewhere, there or under its name, is kept by a Module, or may be lengths."""
    if is_bookkeeping(name):
        return True
    for call in nodes_in(function, ast.Call):
        callee = call.func.attr if isinstance(call.func, ast.Attribute) else dotted_path(call.func) or ""
        if callee in _ELSEWHERE and isinstance(call.func, ast.Attribute):
            held = call.func.value
            if is_inside(made, held) or (name and any(dotted_path(each) == name for each in inside(held))):
                return True
        elif callee.rpartition(".")[2] in _TAKES_OVER and any(is_inside(made, each) for each in call.args):
            return True
    return False


SAYING = ("device=",)
EVENTS = {FileEnded: _note_end}
