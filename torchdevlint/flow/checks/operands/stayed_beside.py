"""Inputs of a model of which the function moves one and leaves another where a factory made it (TDL004, TDL014).

``model(ids.to(device), torch.zeros(1, 1))``: what is moved, or made there, says where the model is. Lengths, steps and
what has one dimension are often wanted on the CPU; and a `DataParallel` takes its inputs as they come, and brings them
itself, as may a model that the file names.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.operands.made_here import is_made_here
from torchdevlint.flow.events import LayerCalled, Mixed
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.batch_beside import scatters
from torchdevlint.flow.run.modules import may_move
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.model_names import TAKEN_BY_NAME, is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.state.devices import VALUELESS_TYPES, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Tensor, Value
from torchdevlint.source.nodes import is_inside

_MATRIX = 2


def _note_layer(event: LayerCalled) -> None:
    frame, node = event.frame, event.node
    if frame.depth or frame.context == "forward" or frame.function is None or scatters(frame):
        return
    if not is_named_like_a_model(event.layer) or event.state.guarded:
        return
    moved = [each for at, value in event.operands if (each := _moved_here(frame, at, value)) is not None]
    keywords = {id(each.value): each.arg or "" for each in node.keywords}
    for at, value in event.operands if moved else ():
        name = keywords.get(id(at)) or dotted_path(at)
        if not isinstance(value, Tensor) or not is_made_here(frame, value) or is_bookkeeping(name):
            continue
        if value.ndim and (value.ndim >= _MATRIX or name in TAKEN_BY_NAME or _has_rows(value)):
            if may_move(frame, node, at):
                continue
            operation = f"`{frame.machine.text_of(node.func)}()`"
            frame.machine.emit(Mixed(frame, event.state, node, operation, (at, value), moved[0]))


def _moved_here(frame: Frame, at: ast.expr, value: Value) -> tuple[ast.expr, Tensor] | None:
    """The operand, if a move in this function or class brought it to where it is on a machine with an accelerator.

    So does a factory of the function that is told a device.
    """
    held = [each for _, each in alternatives(value)]
    tensors = [each for each in held if isinstance(each, Tensor)]
    there = [each for each in tensors if _is_elsewhere(each) and each.steps]
    inside = [each for each in there if _is_placed_in(frame, each)]
    return (at, inside[0]) if inside and len(tensors) == len(held) else None


def _is_placed_in(frame: Frame, value: Tensor) -> bool:
    last = value.steps[-1]
    if last.made_by and frame.function is not None:
        return is_inside(last.node, frame.function)
    return value.moved and _is_move_in(frame, last.node)


def _is_move_in(frame: Frame, node: ast.AST) -> bool:
    moves = isinstance(node, ast.Call) and last_name(node.func) in ("to", *torch_api.DEVICE_METHODS)
    around = frame.function if frame.owner is None else frame.owner.node
    return moves and around is not None and is_inside(node, around)


def _is_elsewhere(value: Tensor) -> bool:
    if value.device.origin is Origin.LITERAL:
        return not on_cpu(value.device) and value.device.name not in VALUELESS_TYPES
    return value.device.origin is Origin.EXPRESSION


def _has_rows(value: Tensor) -> bool:
    """Whether it was made of lists in a list: ``torch.tensor([[start]])``."""
    calls = [each.node for each in value.creations if isinstance(each.node, ast.Call) and each.node.args]
    data = [each.args[0] for each in calls]
    rows = [isinstance(each, ast.List) and all(isinstance(one, ast.List) for one in each.elts) for each in data]
    return all(rows) and len(rows) == len(value.creations)


EVENTS = {LayerCalled: _note_layer}
