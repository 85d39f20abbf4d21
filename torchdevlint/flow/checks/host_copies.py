"""Copies to the CPU that do not block: what is read of them before anything waits (TDL011).

A copy counts as done as soon as something was called that may have waited for the accelerator, wherever that is: then
nothing is said.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from torchdevlint.flow.checks.host_reads import is_off_host, reads_on_host
from torchdevlint.flow.events import FunctionCalled, LibraryCalled, Operated, UnknownCalled
from torchdevlint.flow.facts.host_copies import ReadBeforeSync
from torchdevlint.flow.kinds.arrays import ARRAY
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import CPU, TOP, Device, literal, on_cpu
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import (
    UNKNOWN,
    Const,
    Dev,
    Library,
    Seq,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.source.nodes import nodes_in

_WAITS = re.compile(r"sync|wait|barrier|join|flush|finish|drain|result", re.IGNORECASE)
"""Names of functions that may wait for an accelerator."""
_VIEWS = frozenset(
    """
    view view_as reshape squeeze unsqueeze transpose permute t swapaxes movedim expand expand_as narrow select detach
    diagonal unfold unflatten chunk split tensor_split unbind contiguous requires_grad_ numpy
    """.split()
)
"""What gives the same memory, and reads nothing."""


class _Memory:
    """Which copies are under way in one file."""

    def __init__(self) -> None:
        self.copies: dict[ast.AST, int] = {}
        """Copies to the CPU that do not block, and what `waits` was when they began."""
        self.waits = 0
        """How many calls so far may have waited for an accelerator."""


def _note_to(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``t.to("cpu", non_blocking=True)`` of what is on an accelerator; without the flag, it waits for all before."""
    device, memory = _target(arguments), frame.machine.memory(_Memory)
    if device != CPU:
        return
    if not isinstance(receiver, Tensor):
        memory.waits += 1
    elif not on_cpu(receiver.device):
        if arguments.keyword_values.get("non_blocking") != Const(True):
            memory.waits += 1
        elif is_off_host(frame, receiver) and receiver.device.name != "mps":
            memory.copies[node] = memory.waits
            for kind, observer in _WHILE_COPYING.items():
                frame.machine.observe(kind, observer)


def _target(arguments: Arguments) -> Device:
    given = arguments.get(0, "device")
    value = UNKNOWN if given is None else given[1]
    if isinstance(value, Const) and isinstance(value.value, str):
        return literal(value.value)
    return value.device if isinstance(value, Dev) else TOP


def _copy_of(machine: Machine, value: Value) -> ast.AST | None:
    """The copy that nothing has waited for and that a tensor, or an array of it, is the result of."""
    if isinstance(value, Library) and value.name == ARRAY:
        return _copy_of(machine, value.children[0])
    if not isinstance(value, Tensor) or value.device != CPU or not value.steps:
        return None
    copy = value.steps[-1].node
    memory = machine.memory(_Memory)
    return copy if memory.copies.get(copy) == memory.waits else None


def note_read(frame: Frame, state: State, node: ast.AST, value_node: ast.expr, value: Value) -> None:
    """The CPU reads `value` at `node`."""
    machine = frame.machine
    copy = _copy_of(machine, value)
    if not isinstance(copy, ast.Call) or not isinstance(copy.func, ast.Attribute):
        return
    source = machine.text_of(copy.func.value)
    machine.record(
        ("read", copy),
        lambda: ReadBeforeSync(
            machine.span_of(node), machine.text_of(value_node), machine.text_of(copy), machine.span_of(copy), source
        ),
        state,
    )


def _note_operands(event: Operated) -> None:
    """An operation reads its operands, unless it gives another view of them."""
    if event.operation.strip("`.()").rpartition(".")[2] not in _VIEWS:
        _note_reads(event.frame, event.state, event.node, event.operands)


def _note_reads(frame: Frame, state: State, node: ast.AST, operands: list[tuple[ast.expr, Value]]) -> None:
    for at, value in operands:
        note_read(frame, state, node, at, value)


def _note_library(event: LibraryCalled) -> None:
    """A call that reads through NumPy, or one that may wait, by its name."""
    if reads_on_host(event.name):
        operands = [each for given in event.arguments.pairs for each in tensor_operands(*given)]
        _note_reads(event.frame, event.state, event.node, operands)
    _note_unknown(event)


def _note_unknown(event: LibraryCalled | UnknownCalled) -> None:
    name = (dotted_path(event.node.func) or "").rpartition(".")[2]
    event.frame.machine.memory(_Memory).waits += bool(_WAITS.search(name))


def _note_function(event: FunctionCalled) -> None:
    """A function of the project that calls what may wait."""
    named = (each.attr for each in nodes_in(event.function.node, ast.Attribute))
    event.frame.machine.memory(_Memory).waits += any(_WAITS.search(each) for each in named)


def _note_own_read(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``t.item()``, ``array.mean()``; of what is elsewhere, such a method waits."""
    read = node.func.value  # type: ignore[attr-defined]
    if isinstance(receiver, Library) and receiver.name == ARRAY:
        note_read(frame, state, node, read, receiver)
    elif not isinstance(receiver, Tensor) or not on_cpu(receiver.device):
        frame.machine.memory(_Memory).waits += isinstance(receiver, (Tensor, Unknown)) and node.func.attr in _COPIES  # type: ignore[attr-defined]
    elif node.func.attr in ("item", "tolist"):  # type: ignore[attr-defined]
        note_read(frame, state, node, read, receiver)


_COPIES = frozenset("item tolist cpu numpy".split())


def _note_wait(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    frame.machine.memory(_Memory).waits += 1


def _note_builtin(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``float(t)`` and ``print(t)`` read what they are given; of what is elsewhere, they wait for it."""
    for at, value in arguments.positional:
        for each in (value.items or ()) if isinstance(value, Seq) else (value,):
            note_read(frame, state, node, at, each)
            frame.machine.memory(_Memory).waits += isinstance(each, Tensor) and not on_cpu(each.device)


_READING = "mean sum max min std any all round astype copy argmax argsort tolist item tobytes tofile dump cpu numpy"
METHODS = {
    "to": _note_to,
    **dict.fromkeys(_READING.split(), _note_own_read),
    **dict.fromkeys("synchronize wait barrier join result".split(), _note_wait),
}
FUNCTIONS = dict.fromkeys(
    (f"builtins.{name}" for name in "float int bool print list tuple sum max min str sorted any all".split()),
    _note_builtin,
)
_WHILE_COPYING: dict[type, Callable[..., None]] = {
    Operated: _note_operands,
    LibraryCalled: _note_library,
    FunctionCalled: _note_function,
    UnknownCalled: _note_unknown,
}
