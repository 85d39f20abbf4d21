"""Tensors of the CPU that are sent between processes over NCCL, which takes those of a GPU only (TDL404)."""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.processes.own_gpus import backends
from torchdevlint.flow.facts.processes import RankMismatch
from torchdevlint.flow.kinds.known_devices import ACCELERATOR
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor, Unknown, Value

_OTHER_BACKENDS = frozenset({"gloo", "mpi", "hccl", "xccl", "ccl"})


def _sent(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``dist.all_reduce(t)`` in a file that makes all its groups with NCCL."""
    if "group" not in arguments.keywords and backends(frame, "any", by_default=True) == {"nccl"}:
        _look(frame, state, node, arguments.pairs)


def _gathered(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``accelerator.gather(t)``: on a machine with GPUs, accelerate makes the group with NCCL."""
    if isinstance(receiver, Unknown) and receiver.made_by == ACCELERATOR:
        _look(frame, state, node, arguments.pairs[:1])


def _look(frame: Frame, state: State, node: ast.Call, given: list[tuple[ast.expr, Value]]) -> None:
    machine = frame.machine
    if machine.muted or state.guarded or state.without_accelerator or machine.words & _OTHER_BACKENDS:
        return
    for at, value in (each for pair in given for each in tensor_operands(*pair)):
        held = [each for _, each in alternatives(value, state.conditions)]
        tensor = held[0] if len(held) == 1 else None
        if isinstance(tensor, Tensor) and _is_of_cpu(frame, state, tensor) and tensor.steps:
            made, text = tensor.steps[-1].node, machine.text_of(at)
            machine.record(
                ("sent", node),
                lambda made=made, text=text: RankMismatch(  # type: ignore[misc]
                    machine.span_of(node), "host", machine.text_of(node.func), text, machine.span_of(made)
                ),
                state,
            )
            machine.explain(*(("mixed", site) for site in tensor.creations))
            return


def _is_of_cpu(frame: Frame, state: State, tensor: Tensor) -> bool:
    if tensor.device == DEFAULT:
        return bool(tensor.creations) and frame.machine.default_is_cpu(state)
    return on_cpu(tensor.device)


_COLLECTIVES = """
    all_reduce broadcast reduce all_gather all_gather_into_tensor gather scatter reduce_scatter reduce_scatter_tensor
    all_to_all all_to_all_single send recv isend irecv
"""
FUNCTIONS = {
    f"torch.distributed.{module}{name}": _sent for module in ("", "distributed_c10d.") for name in _COLLECTIVES.split()
}
METHODS = dict.fromkeys(("gather", "gather_for_metrics", "reduce"), _gathered)
