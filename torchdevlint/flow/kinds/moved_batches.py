"""Batches that a statement moves in place: what they hold may be where it is wanted from then on."""

from __future__ import annotations

import ast

from torchdevlint.flow.kinds.loaders import is_from_loader, says_device
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import UNKNOWN, Func, Library, Map, Obj, Record
from torchdevlint.source.nodes import arguments_of, dropped_by


def forget_if_in_place(frame: Frame, statement: ast.expr, state: State) -> None:
    """``batch.to(d)``, or ``batch.place(device)``, as a statement: a container of tensors may have moved in place."""
    for call in dropped_by(statement):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        path = dotted_path(call.func.value)
        held = frame.evaluate(call.func.value, state) if path is not None and _converts(call) else UNKNOWN
        if path is not None and is_from_loader(held.element if isinstance(held, Map) else held):
            state.bind(path, UNKNOWN)


def _converts(call: ast.Call) -> bool:
    """Whether it is a conversion, or any other method that is told a device: tensors have none whose result is lost."""
    name = last_name(call.func)
    if name in torch_api.CONVERSIONS:
        return bool(call.args or call.keywords) or name in torch_api.NAMED_CONVERSIONS
    return any(map(says_device, (call.func, *arguments_of(call))))


def forget_if_sent(frame: Frame, call: ast.Call, state: State) -> None:
    """``send_to(batch, device)`` as a statement, of a function of another file: it may move the batch in place."""
    if not call.args or not any(map(says_device, (call.func, *arguments_of(call)))):
        return
    if isinstance(frame.evaluate(call.func, state), (Func, Obj, Library)):
        return
    for each in call.args:
        path = dotted_path(each)
        value = frame.evaluate(each, state) if path is not None else UNKNOWN
        if path is not None and (isinstance(value, (Map, Record)) or (is_from_loader(value) and path in state.env)):
            state.bind(path, UNKNOWN)
