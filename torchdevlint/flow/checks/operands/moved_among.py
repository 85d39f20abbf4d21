"""Arguments of a function of which it brings one to where a model is, and gives that another one as it came (TDL004).

``def step(self, x: Tensor, mask: Tensor): self.model(x.to(self.device), mask)``: both come from one caller, who leaves
it to the function to bring them over, unless all calls in the file bring the other one before. A `DataParallel` takes
its inputs as they come, and lengths may stay on the CPU.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.events import LayerCalled, Mixed, ModuleCalled
from torchdevlint.flow.run.batch_beside import scatters
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.brought_reads import takes_tensor
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.moved_by_callers import is_moved_by_callers
from torchdevlint.flow.scope.names import last_name, parameter_names
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library, Tensor, Value
from torchdevlint.source.nodes import is_inside


def _note_layer(event: LayerCalled) -> None:
    _look(event.frame, event.state, event.node, event.operands)


def _note_module(event: ModuleCalled) -> None:
    """A model that was moved, whose class is not known."""
    if isinstance(event.module, Library):
        _look(event.frame, event.state, event.node, event.arguments.pairs)


def _look(frame: Frame, state: State, node: ast.Call, operands: list[tuple[ast.expr, Value]]) -> None:
    function = frame.function
    if frame.depth or not isinstance(function, ast.FunctionDef) or frame.context == "forward" or scatters(frame):
        return
    if not is_named_like_a_model(node.func):
        return
    tensors = [(at, value) for at, value in operands if isinstance(value, Tensor)]
    moved = [(at, value) for at, value in tensors if _is_moved_here(frame, function, value)]
    for at, value in tensors if moved else ():
        if _is_as_it_came(function, value) and not is_moved_by_callers(frame.machine.tree, function, value.device.name):
            operation = f"`{frame.machine.text_of(node.func)}()`"
            frame.machine.emit(Mixed(frame, state, node, operation, (at, value), moved[0]))
            return


def _is_moved_here(frame: Frame, function: ast.FunctionDef, value: Tensor) -> bool:
    """Whether it came as an argument, and the function brought it to a device that the code names."""
    if not value.moved or value.device.origin is not Origin.EXPRESSION:
        return False
    begun, moved = value.steps[0].node, value.steps[-1].node
    named = value.device.name.partition(".")[0] not in parameter_names(function) - {"self", "device"}
    is_move = isinstance(moved, ast.Call) and last_name(moved.func) == "to" and is_inside(moved, function)
    return isinstance(begun, ast.arg) and is_move and named


def _is_as_it_came(function: ast.FunctionDef, value: Tensor) -> bool:
    name = value.device.name
    came = value.device.origin is Origin.ARGUMENT and not value.moved and value.ndim != 0
    return came and takes_tensor(function, name) and not is_bookkeeping(name)


EVENTS = {LayerCalled: _note_layer, ModuleCalled: _note_module}
