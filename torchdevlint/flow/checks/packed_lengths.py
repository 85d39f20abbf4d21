"""Lengths of packed sequences, which have to be on the CPU (TDL013)."""

from __future__ import annotations

import ast
import re

from torchdevlint.flow.calling.arguments import Arguments
from torchdevlint.flow.checks.host_reads import is_off_host
from torchdevlint.flow.facts.common import Operand
from torchdevlint.flow.facts.sequences import LengthsOnAccelerator
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame, State
from torchdevlint.flow.state.values import Tensor, Value

_LENGTHS = re.compile(r"len|siz|num|count", re.IGNORECASE)
"""Names of inputs that callers keep on the CPU, since nothing is calculated with them."""


def _note_packing(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    lengths = arguments.get(1, "lengths")
    if lengths is None:
        return
    at, value = lengths
    for _, each in alternatives(value, state.conditions):
        if isinstance(each, Tensor) and is_off_host(frame, each) and not _came_as_lengths(frame, at, each):
            _record(frame, state, node, at, each)


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
        return LengthsOnAccelerator(machine.span_of(node), machine.text_of(node.func), lengths)

    machine.record(("lengths", node), make, state)


FUNCTIONS = {"torch.nn.utils.rnn.pack_padded_sequence": _note_packing}
