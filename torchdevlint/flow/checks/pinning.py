"""Pinned memory, which is memory of the host: what is on an accelerator cannot be pinned.

A device that has a name counts for data sets only: who pins what is on a device that a caller names keeps it for a copy
on the host.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.children import is_placed, placed_in, run_in_child
from torchdevlint.flow.checks.workers import LOADERS, is_iterator, reads
from torchdevlint.flow.facts.processes import PinnedOnDevice
from torchdevlint.flow.kinds.options import surely_true
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, NUMBER, UNKNOWN, Const, Seq, Tensor, Value


def _method(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``t.pin_memory()``."""
    if is_placed(receiver) and receiver.device.origin is Origin.LITERAL:
        _record(frame, state, node, "method", receiver)


def _new(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``t.new_zeros(2, pin_memory=True)``."""
    if _is_asked(arguments) and "device" not in arguments.keywords:
        _method(frame, state, node, receiver, arguments)


def _factory(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``torch.zeros(2, device=device, pin_memory=True)``."""
    if _is_asked(arguments) and is_placed(given) and given.device.origin is Origin.LITERAL:
        _record(frame, state, node, "factory", given)


def _is_asked(arguments: Arguments) -> bool:
    given = arguments.keywords.get("pin_memory")
    return given is not None and given[1] == Const(True)


def _loader(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``DataLoader(data, pin_memory=True)``, where batches are made of what is on an accelerator already."""
    pinned = arguments.get(7, "pin_memory")
    if frame.machine.muted or pinned is None or not surely_true(frame, *pinned):
        return
    stored = _batch(frame, node, arguments)
    if stored is not None:
        at = next((each for each in node.keywords if each.arg == "pin_memory"), node)
        _record(frame, state, node, "loader", stored, at)


def _batch(frame: Frame, node: ast.Call, arguments: Arguments) -> Tensor | None:
    """A tensor in the batches of a loader that is surely on an accelerator."""
    data = arguments.value(0, "dataset")
    sample: Value = UNKNOWN
    for function in reads(data):
        sample = run_in_child(frame, node, function, [] if is_iterator(function) else [NUMBER], {})[1]
    collate = arguments.get(6, "collate_fn")
    if collate is None or collate[1] == NONE:
        return placed_in(sample) or placed_in(data)
    return placed_in(run_in_child(frame, node, collate[1], [Seq(None, sample)], {})[1])


def _record(frame: Frame, state: State, node: ast.Call, kind: str, stored: Tensor, at: ast.AST | None = None) -> None:
    machine, put = frame.machine, stored.steps[-1].node
    machine.record(
        ("pinned", at or node),
        lambda: PinnedOnDevice(
            machine.span_of(at or node),
            kind,
            machine.text_of(put),
            machine.span_of(put),
            machine.span_of(node) if kind == "loader" else None,
        ),
        state,
    )


_PINNING = sorted((torch_api.FACTORIES | torch_api.LIKE_FACTORIES) - torch_api.DATA_FACTORIES)
"""Make the tensor where ``pin_memory=True`` is to pin it; `torch.tensor` pins a copy on the host, and moves that."""
FUNCTIONS = {**dict.fromkeys(LOADERS, _loader), **{f"torch.{name}": _factory for name in _PINNING}}
METHODS = {"pin_memory": _method, **dict.fromkeys(sorted(torch_api.NEW_METHODS), _new)}
