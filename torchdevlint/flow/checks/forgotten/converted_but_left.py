"""Tensors that a function brings to its dtype and not to its device, as it does with what are none (TDL310).

``if isinstance(x, torch.Tensor): return x.to(dtype)``, and else ``torch.tensor(x, dtype=dtype, device=device)``: who
gives a tensor gets it where it was. A function that leaves tensors alone, ``return x``, may mean it; one that converts
them does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, mentions_device, public_path
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, assignment_of, inside, is_name, nodes_in, own_blocks_in

_Arm = tuple[str, ast.expr]
"""What an arm binds or returns: the name, nothing for what is returned, and the value."""


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    text = machine.reading.source.text
    if "isinstance(" not in text and "is_tensor(" not in text:
        return
    if not imports_torch(machine.tree):
        return
    for function in functions_that_place(machine.tree):
        for left, move in _left(function):
            record(machine, function, "arm", left, move, at=left)


def _left(function: FunctionNode) -> Iterator[tuple[ast.expr, ast.expr]]:
    for block in own_blocks_in(function):
        for number, asked in enumerate(block):
            subject = _asked(asked.test) if isinstance(asked, ast.If) else None
            if subject is None or not isinstance(asked, ast.If):
                continue
            name, of_tensors = subject
            one, other = _arm(asked.body), _arm(asked.orelse or block[number + 1 :])
            tensors, rest = (one, other) if of_tensors else (other, one)
            if tensors is None or rest is None or tensors[0] != rest[0] or tensors[0] not in ("", name):
                continue
            move = _placing(rest[1], name)
            if move is not None and _is_converted(tensors[1], name) and not _is_moved(function, name, rest[1]):
                yield tensors[1], move


def _asked(test: ast.expr) -> tuple[str, bool] | None:
    """The name that a test asks for a tensor, and whether it holds for one."""
    holds = True
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds = test.operand, False
    if not isinstance(test, ast.Call) or not test.args or not isinstance(test.args[0], ast.Name):
        return None
    asks = dotted_path(test.func) == "isinstance" and public_path(test.args[-1]) in torch_api.ANY_TENSOR
    return (test.args[0].id, holds) if asks or public_path(test.func) == "torch.is_tensor" else None


def _arm(block: list[ast.stmt]) -> _Arm | None:
    """What the one statement of an arm binds, or what its first one returns."""
    first = block[0] if block else None
    if isinstance(first, ast.Return):
        return ("", first.value) if first.value is not None else None
    assigned = assignment_of(first) if first is not None and len(block) == 1 else None
    target = assigned.targets[0] if assigned is not None else None
    return (target.id, assigned.value) if assigned is not None and isinstance(target, ast.Name) else None


def _is_converted(value: ast.expr, name: str) -> bool:
    """``x.float()``, ``x.to(dtype)``: `x` in another type, where it is."""
    converts = False
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr in torch_api.DTYPE_METHODS:
            converts = True
        elif value.func.attr == "to":
            given = arguments_of(value)
            if not given or any(map(_may_place, given)):
                return False
            converts = True
        elif value.func.attr not in _KEEP:
            return False
        value = value.func.value
    return converts and is_name(value, name)


_KEEP = frozenset({"detach", "clone", "contiguous", "reshape", "view", "flatten", "squeeze", "unsqueeze"})


def _may_place(node: ast.expr) -> bool:
    """Whether what ``to`` is given may be a device, or a tensor: anything but a dtype by its name."""
    words = (dotted_path(node) or "").rpartition(".")[2]
    return "dtype" not in words and not public_path(node).startswith("torch.")


def _placing(value: ast.expr, name: str) -> ast.Call | None:
    """The call by which something is made of `name` on a device, or moved there."""
    if not any(is_name(each, name) for each in inside(value)):
        return None
    for call in (each for each in inside(value) if isinstance(each, ast.Call)):
        told = [each.value for each in call.keywords if each.arg == "device"]
        if isinstance(call.func, ast.Attribute) and call.func.attr == "to":
            told += [each for each in call.args if mentions_device((dotted_path(each) or "").rpartition(".")[2])]
        if any(not is_cpu_spec(each) and not isinstance(each, ast.Constant) for each in told):
            return call
    return None


def _is_moved(function: FunctionNode, name: str, made: ast.expr) -> bool:
    """Whether the function moves it elsewhere, or gives it to who is told a device as well."""
    within = set(inside(made))
    for call in nodes_in(function, ast.Call):
        if call in within:
            continue
        method = call.func if isinstance(call.func, ast.Attribute) else None
        moves = method is not None and method.attr in torch_api.MOVE_METHODS and is_name(method.value, name)
        if moves and any(map(_may_place, arguments_of(call))):
            return True
        given = arguments_of(call)
        if any(is_name(each, name) for each in given) and any(
            mentions_device((dotted_path(each) or "").rpartition(".")[2]) for each in given
        ):
            return True
    return False


SAYING = ("device",)
EVENTS = {FileEnded: _note_end}
