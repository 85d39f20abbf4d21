"""Inputs of a model that an object keeps, which one place moves and another leaves where they are (TDL005, TDL014).

``self.model(states.to(self.device))`` in one method says where the model is; ``self.model(torch.tensor(state))`` in
another forgets it, and so does a loop over a loader that gives it the batch as it came. What builds the object may try
the model before anything is moved, and who brings the model to the CPU for a while knows where it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from torchdevlint.flow.events import LayerCalled, Mixed
from torchdevlint.flow.kinds.managed_batches import moves_batches
from torchdevlint.flow.run.batch_beside import scatters
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, last_name, mentions_device
from torchdevlint.flow.state.devices import DEFAULT, LOADER, Device, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import AT_LEAST_1, Step, Tensor, Value
from torchdevlint.source.nodes import is_inside, nodes_in, once_a_node

_MOVES = frozenset({"to", "cpu", "cuda"})


def _note_layer(event: LayerCalled) -> None:
    frame, node, owner = event.frame, event.node, event.frame.owner
    path = dotted_path(node.func) or ""
    if frame.depth or owner is None or owner.is_module or not path.startswith("self.") or path.count(".") > 1:
        return
    if not isinstance(frame.function, ast.FunctionDef) or frame.function.name == "__init__":
        return
    if scatters(frame) or event.state.guarded or not is_named_like_a_model(node.func) or not event.operands:
        return
    at, value = event.operands[0]
    if not node.args or at is not node.args[0] or is_bookkeeping(dotted_path(at)):
        return
    if not _is_made_here(frame, value) and not _is_of_loader(frame, value):
        return
    move = next(_moved_inputs(owner.node, path), None)
    if move is not None and path not in _brought(owner.node) and isinstance(value, Tensor):
        there = frame.machine.text_of(move.args[0])
        step = Step(f"`{path}` is given what was moved to `{there}` here", move)
        model = Tensor(Device(Origin.EXPRESSION, there), AT_LEAST_1, (), (step,))
        operation = f"`{frame.machine.text_of(node.func)}()`"
        frame.machine.emit(Mixed(frame, event.state, node, operation, (at, value), (node.func, model)))


def _is_made_here(frame: Frame, value: Value) -> bool:
    """Whether factories of this very function made it, on the default device."""
    if not isinstance(value, Tensor) or value.device != DEFAULT or not value.creations or value.ndim == 0:
        return False
    return all(is_inside(each.node, frame.function) for each in value.creations)  # type: ignore[arg-type]


def _is_of_loader(frame: Frame, value: Value) -> bool:
    """Whether it is, or was made of, what a loader gave, whose batches nothing else moves."""
    return isinstance(value, Tensor) and value.device == LOADER and not moves_batches(frame)


def _moved_inputs(owner: ast.ClassDef, path: str) -> Iterator[ast.Call]:
    """The moves to a device of `self` of what methods give the model first, as all that the name stands for there."""
    for method in (each for each in owner.body if isinstance(each, ast.FunctionDef)):
        for call in nodes_in(method, ast.Call):
            if dotted_path(call.func) != path or not call.args:
                continue
            name = dotted_path(call.args[0])
            bound = [call.args[0]] if name is None else values_by_path(method).get(name, [])
            moves = [each for each in bound if _is_move(each) and each.lineno <= call.lineno]
            if moves and len(moves) == len(bound):
                yield from moves


def _is_move(node: ast.expr) -> TypeGuard[ast.Call]:
    """``x.to(self.device)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "to":
        return False
    path = (dotted_path(node.args[0]) or "") if node.args else ""
    return path.startswith("self.") and mentions_device(last_name(node.args[0]))


@once_a_node
def _brought(owner: ast.ClassDef) -> frozenset[str]:
    """The attributes that a class moves itself: ``self.model.cpu()``, ``self.model = self.model.to(device)``."""
    calls = (each.func for each in nodes_in(owner, ast.Call) if isinstance(each.func, ast.Attribute))
    return frozenset(dotted_path(each.value) or "" for each in calls if each.attr in _MOVES)


EVENTS = {LayerCalled: _note_layer}
