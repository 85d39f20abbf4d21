"""Tensors that a function makes of what is on the host in one case, where it moves or places those of others (TDL310).

``if empty: return torch.zeros(size)`` beside ``return torch.from_numpy(x).to(device)``: who gets it cannot tell them
apart. So it is with ``torch.from_numpy(x) if len(x) else torch.zeros(2, 0, device=device)``, and with two arms that
bind one name. What ``torch.tensor`` makes is left alone, since a single number meets tensors of any device.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.left_in_one_case import is_of_places, places, says_place
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, last_name, parameter_names, public_path
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import (
    arguments_of,
    assignment_of,
    inside,
    keyword_of,
    nodes_in,
    own_assignments_in,
    own_nodes_in,
)

_LEAST = 2
_MAKERS = torch_api.SIZE_FACTORIES | {"full", "from_numpy", "Tensor", "FloatTensor", "LongTensor"}
_CONVERT = torch_api.NAMED_CONVERSIONS | torch_api.MOVE_METHODS


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not imports_torch(machine.tree):
        return
    for function in functions_that_place(machine.tree):
        if function not in machine.pipeline:
            for left, move in (*_left_in(function), *_left_in_choices(function)):
                record(machine, function, "cases", left, move, at=left)


def _left_in(function: FunctionNode) -> Iterator[tuple[ast.Call, ast.Call]]:
    own = parameter_names(function)
    values = [each.value for each in own_nodes_in(function, ast.Return) if not _is_none(each.value)]
    values = [each for each in values if not (isinstance(each, ast.Name) and each.id in own)]  # of another kind
    if len(values) < _LEAST or not all(isinstance(each, ast.Call) for each in values):
        return
    tests = [each.test for each in own_nodes_in(function, ast.If)]
    tests += [each.test for each in own_nodes_in(function, ast.IfExp)]
    if tests and not _ask_for_places(function, tests):
        yield from _left_of(values)


def _ask_for_places(function: FunctionNode, tests: list[ast.expr]) -> bool:
    """Whether tests may decide where things are, also by what the names in them stand for."""
    asked = {each.id for test in tests for each in inside(test) if isinstance(each, ast.Name)}
    return is_of_places([*tests, *(value for name in asked for value in values_by_path(function).get(name, ()))])


def _left_of(values: Sequence[ast.expr | None]) -> Iterator[tuple[ast.Call, ast.Call]]:
    """The only one that is made on the CPU, where all others are moved, or made on a device; else nothing.

    Beside what is made on a device it has to be made of what the host has: of sizes, the inference sees both.
    """
    calls = [each for each in values if isinstance(each, ast.Call)]
    placed = [each for each in calls if _is_moved(each) or _is_told(each)]
    left = [each for each in calls if each not in placed]
    if len(calls) != len(values) or len(left) != 1 or not placed or not _is_made_on_cpu(left[0]):
        return
    if _is_moved(placed[0]) or _is_of_the_host(left[0]):
        yield left[0], placed[0]


def _is_of_the_host(node: ast.expr) -> bool:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CONVERT:
        node = node.func.value
    return isinstance(node, ast.Call) and last_name(node.func) in _OF_THE_HOST


_OF_THE_HOST = frozenset({"from_numpy", "Tensor", "FloatTensor", "LongTensor"})


def _is_told(call: ast.Call) -> bool:
    """Whether a factory, at the start of a chain of conversions, is told a device that is not the CPU."""
    while isinstance(call.func, ast.Attribute) and call.func.attr in _CONVERT and isinstance(call.func.value, ast.Call):
        call = call.func.value
    told = keyword_of(call, "device")
    return told is not None and not is_cpu_spec(told) and not _is_none(told) and says_place(call)


def _left_in_choices(function: FunctionNode) -> Iterator[tuple[ast.Call, ast.Call]]:
    """The same of ``a if test else b``, and of what the two arms of a test bind to one name and nothing else."""
    choices = {id(each): each for each in own_nodes_in(function, ast.IfExp)}
    for assigned in own_assignments_in(function):
        choice = choices.get(id(assigned.value))
        name = dotted_path(assigned.targets[0])
        if choice is None or name is None or _decides(function, choice.test):
            continue
        if not _is_brought(function, name):
            yield from _left_of([choice.body, choice.orelse])
    for asked in own_nodes_in(function, ast.If):
        bound, other = map(_only_bound, (asked.body, asked.orelse))
        if bound is None or other is None or bound[0] != other[0] or _decides(function, asked.test):
            continue
        if not _is_brought(function, bound[0]):
            yield from _left_of([bound[1], other[1]])


def _decides(function: FunctionNode, test: ast.expr) -> bool:
    """Whether a test may be one for a place, or asks for the kind of a thing, or whether there is one."""
    return _ask_for_places(function, [test]) or _OF_ANOTHER_KIND.search(ast.unparse(test)) is not None


_OF_ANOTHER_KIND = regex(r"isinstance|is_tensor|\btype\(|hasattr| is (?:not )?None")


def _only_bound(arm: Sequence[ast.stmt]) -> tuple[str, ast.expr] | None:
    """The name, or the attribute, and the value of an arm that is nothing but one assignment."""
    assigned = assignment_of(arm[0]) if len(arm) == 1 else None
    name = dotted_path(assigned.targets[0]) if assigned is not None and len(assigned.targets) == 1 else None
    return (name, assigned.value) if assigned is not None and name is not None else None


def _is_brought(function: FunctionNode, name: str) -> bool:
    """Whether what is bound is moved, read on the host, or given to who is told a place as well."""
    if "." in name or is_bookkeeping(name):
        return True
    for call in nodes_in(function, ast.Call):
        held = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr in _LEAVE else None
        if held is not None and dotted_path(held) == name:
            return True
        if says_place(call) and any(dotted_path(each) == name for each in arguments_of(call)):
            return True
    return False


_LEAVE = torch_api.MOVE_METHODS | {"numpy", "tolist", "item", "type_as", "pin_memory"}


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _is_moved(call: ast.Call) -> bool:
    """Whether what a call gives was moved at its end: ``x.sum().to(device)``."""
    while isinstance(call.func, ast.Attribute) and call.func.attr in _CONVERT:
        if places(call):
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


SAYING = (").to(", ").cuda(", "device=")
EVENTS = {FileEnded: _note_end}
