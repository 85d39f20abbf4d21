"""Tensors of the CPU that are sent between processes over NCCL, which takes those of a GPU only (TDL404)."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from torchdevlint.flow.checks.operands.met_elsewhere import led_by
from torchdevlint.flow.checks.processes.groups import OTHER_BACKENDS, sends_by_nccl
from torchdevlint.flow.checks.processes.sent_alike import others_are_placed
from torchdevlint.flow.facts.processes import RankMismatch
from torchdevlint.flow.kinds.known_devices import ACCELERATOR
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor, Unknown, Value
from torchdevlint.patterns import regex

_OF_PLACES = regex(r"cuda|gpu|cpu|dev|backend|nccl", re.IGNORECASE)
"""What a test speaks of that may tell where a tensor is, or what it is sent by."""

_OF_GROUPS = regex(r"is_initialized|is_available|world_size|is_dist|distributed")
"""What a test speaks of that another file makes before it sends anything: whether there are several processes."""


def _sent(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``dist.all_reduce(t)`` where groups are made with NCCL."""
    if "group" not in arguments.keywords:
        _look(frame, state, node, arguments.pairs, lambda: _needs_device(frame, node))


def _needs_device(frame: Frame, node: ast.Call) -> bool:
    return sends_by_nccl(frame, node) or others_are_placed(frame, node, _NAMES)


def _gathered(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``accelerator.gather(t)``: on a machine with GPUs, accelerate makes the group with NCCL."""
    if isinstance(receiver, Unknown) and receiver.made_by == ACCELERATOR:
        _look(frame, state, node, arguments.pairs[:1], lambda: not frame.machine.words & OTHER_BACKENDS)


def _look(
    frame: Frame,
    state: State,
    node: ast.Call,
    given: list[tuple[ast.expr, Value]],
    is_nccl: Callable[[], bool],
) -> None:
    """What is sent from this file: also by a function of another one, which is given it."""
    machine = frame.machine
    if machine.muted or state.guarded or state.without_accelerator:
        return
    operands = [each for pair in given for each in tensor_operands(*pair)]
    if any(isinstance(each, Tensor) and each.device.origin is Origin.ARGUMENT for _, each in operands[1:]):
        return  # both have to be where that is, whatever they are sent by
    for at, value in operands:
        tensor = _of_cpu(frame, state, value)
        if tensor is None or machine.span_of(tensor.steps[-1].node).file or not is_nccl():
            continue
        led = led_by(frame, node)
        if led is None and machine.span_of(node).file:
            return
        call, sent = (node, at) if led is None else (led[0], _handed(led, tensor))
        made = tensor.steps[-1].node
        machine.record(
            ("sent", call),
            lambda call=call, sent=sent, made=made: RankMismatch(  # type: ignore[misc]
                machine.span_of(call), "host", machine.text_of(call.func), machine.text_of(sent), machine.span_of(made)
            ),
            state if led is None or not all(_OF_GROUPS.search(str(key)) for key, _ in state.conditions) else State({}),
        )
        machine.explain(*(("mixed", site) for site in tensor.creations))
        return


def _handed(led: tuple[ast.Call, Frame], tensor: Tensor) -> ast.expr:
    """The argument by which a call hands a tensor to a function of another file; else what made it."""
    call, inner = led
    given = inner.given[max(len(inner.given) - len(call.args), 0) :]
    made = tensor.steps[-1].node
    found = (at for at, value in zip(call.args, given, strict=False) if value == tensor)
    return next(found, made if isinstance(made, ast.expr) else call)


def _of_cpu(frame: Frame, state: State, value: Value) -> Tensor | None:
    """A tensor of the CPU, which may be one of several things where what decides it is no matter of places."""
    held = alternatives(value, state.conditions)
    if len(held) > 1 and any(_OF_PLACES.search(str(key)) for conditions, _ in held for key, _ in conditions):
        return None
    for _, each in held:
        if isinstance(each, Tensor) and each.steps and _is_of_cpu(frame, state, each):
            return each
    return None


def _is_of_cpu(frame: Frame, state: State, tensor: Tensor) -> bool:
    if tensor.device == DEFAULT:
        return bool(tensor.creations) and frame.machine.default_is_cpu(state)
    return on_cpu(tensor.device)


_COLLECTIVES = """
    all_reduce broadcast reduce all_gather all_gather_into_tensor gather scatter reduce_scatter reduce_scatter_tensor
    all_to_all all_to_all_single send recv isend irecv
"""
_NAMES = frozenset(_COLLECTIVES.split())
FUNCTIONS = {
    f"torch.distributed.{module}{name}": _sent for module in ("", "distributed_c10d.") for name in sorted(_NAMES)
}
METHODS = dict.fromkeys(("gather", "gather_for_metrics", "reduce"), _gathered)
