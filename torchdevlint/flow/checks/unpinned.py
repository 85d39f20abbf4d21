"""Loaders whose batches are moved from memory that is not pinned (TDL603)."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchdevlint.flow.facts.transfers import UnpinnedLoader
from torchdevlint.flow.run.moves import method_device, to_device
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import LOADER, VALUELESS_TYPES, Origin, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Const, Tensor, Value


def _move(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    machine, callee = frame.machine, node.func
    if UnpinnedLoader not in machine.wanted or not isinstance(receiver, Tensor) or receiver.device != LOADER:
        return
    loader = machine.loaders.get(receiver.steps[0].node) if receiver.steps else None
    if not isinstance(loader, ast.Call) or not isinstance(callee, ast.Attribute) or not _is_unpinned(loader):
        return
    device = to_device(frame, arguments) if callee.attr == "to" else method_device(frame, callee.attr, arguments)
    if device is None or device.origin is Origin.TOP or on_cpu(device) or device.name in (*VALUELESS_TYPES, "mps"):
        return
    asynchronous = arguments.keyword_values.get("non_blocking") == Const(True)
    machine.record(
        ("unpinned", loader, "loader"),
        lambda: UnpinnedLoader(machine.span_of(loader), machine.text_of(node), machine.span_of(node), asynchronous),
        state,
    )


def _is_unpinned(loader: ast.Call) -> bool:
    """Whether a DataLoader is not told whether to pin, by keyword, position, or what two stars bring."""
    told = any(each.arg is None or each.arg == "pin_memory" for each in loader.keywords)
    return not told and len(loader.args) < 8 and not any(isinstance(each, ast.Starred) for each in loader.args)


METHODS: dict[str, Callable[..., None]] = dict.fromkeys(("to", "cuda", "xpu"), _move)
