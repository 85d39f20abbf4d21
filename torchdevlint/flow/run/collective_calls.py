"""Collectives of ``torch.distributed`` that are given both what is sent and where it is received.

NCCL takes tensors of GPUs alone and Gloo those of the CPU, so that one call never gets both. A file that names a
backend for the CPU may have made its group with either. Where all groups are made with NCCL, any tensor of the CPU is
wrong by itself (TDL404), which then explains what meets here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchdevlint.flow.run.operations import combine
from torchdevlint.flow.run.tensor_methods import surely_tensor, tensor_operands
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import UNKNOWN, Value

_OTHER_BACKENDS = frozenset({"gloo", "mpi"})
_TAKEN = {
    "all_gather": ("tensor_list", "tensor"),
    "all_gather_into_tensor": ("output_tensor", "input_tensor"),
    "all_to_all": ("output_tensor_list", "input_tensor_list"),
    "all_to_all_single": ("output", "input"),
    "gather": ("tensor", "gather_list"),
    "reduce_scatter": ("output", "input_list"),
    "reduce_scatter_tensor": ("output", "input"),
    "scatter": ("tensor", "scatter_list"),
}
"""The names of the first two parameters: tensors, or lists of some."""


def _meet(first: str, second: str, frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    found = [arguments.get(0, first), arguments.get(1, second)]
    if not frame.machine.words & _OTHER_BACKENDS:
        operands = [one for each in found if each is not None for one in tensor_operands(*surely_tensor(*each))]
        combine(frame, state, node, f"`{frame.machine.text_of(node.func)}()`", operands, strict=True)
    return UNKNOWN


def _taking(first: str, second: str) -> Callable[[Frame, State, ast.Call, Arguments], Value]:
    return lambda frame, state, node, arguments: _meet(first, second, frame, state, node, arguments)


CALLS = {
    f"torch.distributed.{module}{name}": _taking(*taken)
    for name, taken in _TAKEN.items()
    for module in ("", "distributed_c10d.")
}
