"""Lengths of packed sequences, which have to be on the CPU (TDL013)."""

from __future__ import annotations

import ast
import re

from torchdevlint.flow.checks.host_reads import is_off_host
from torchdevlint.flow.facts.common import Operand
from torchdevlint.flow.facts.sequences import LengthsOnAccelerator
from torchdevlint.flow.kinds.parameters import place_of_argument
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import MODEL
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor, Value
from torchdevlint.flow.vouch.devices import is_surely_tensor
from torchdevlint.source.nodes import nodes_in

_MAX_HOPS = 4
_LENGTHS = re.compile(r"len|siz|num|count", re.IGNORECASE)
"""Names of inputs that callers keep on the CPU, since nothing is calculated with them."""


def _note_packing(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    lengths = arguments.get(1, "lengths")
    if lengths is None:
        return
    at, value = lengths
    for _, each in alternatives(value, state.conditions):
        if not isinstance(each, Tensor) or not is_off_host(frame, each):
            continue
        if not _came_as_lengths(frame, at, each) or _came_with_input(frame, arguments, at):
            _record(frame, state, node, at, each)


def _came_with_input(frame: Frame, arguments: Arguments, lengths: ast.expr) -> bool:
    """Whether `forward` takes both out of one dict that it is given: what moves a batch moves all of its tensors."""
    packed = arguments.get(0, "input")
    if packed is None or frame.context != "forward":
        return False
    holder = _holder(frame, packed[0])
    return holder is not None and place_of_argument(frame, holder) == MODEL and holder == _holder(frame, lengths)


def _holder(frame: Frame, node: ast.expr) -> str | None:
    """The name of what a value is an item of, under a literal key: `d` for ``torch.clamp(d["lengths"], min=1)``."""
    for _ in range(_MAX_HOPS):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_torch = dotted_path(node.func.value) == "torch"
            if of_torch and not node.args:
                return None
            node = node.args[0] if of_torch else node.func.value
        elif isinstance(node, ast.Name) and frame.function is not None:
            places = [each for each in nodes_in(frame.function, ast.Assign) if _binds(each, node.id)]
            if len(places) != 1:
                return None
            node = places[0].value
        else:
            break
    keyed = (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    )
    return dotted_path(node.value) if isinstance(node, ast.Subscript) and keyed else None


def _binds(node: ast.Assign, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in node.targets)


def _came_as_lengths(frame: Frame, node: ast.expr, value: Tensor) -> bool:
    """Whether it is, or is made of, an input that is called so, and that nothing has moved."""
    if value.moved:
        return False
    text = frame.machine.text_of
    first = value.steps[0] if value.steps else None
    if first is None or first.of_module:
        return first is None and bool(_LENGTHS.search(text(node)))
    return bool(_LENGTHS.search(text(first.node)))


def _record(frame: Frame, state: State, node: ast.Call, at: ast.expr, value: Tensor) -> None:
    machine = frame.machine

    def make() -> LengthsOnAccelerator:
        lengths = Operand(
            machine.text_of(at), value.device.describe(), machine.span_of(at), machine.evidence(value.steps)
        )
        surely = is_surely_tensor(frame, state, at)
        return LengthsOnAccelerator(machine.span_of(node), machine.text_of(node.func), lengths, surely)

    machine.record(("lengths", node), make, state)


FUNCTIONS = {"torch.nn.utils.rnn.pack_padded_sequence": _note_packing}
