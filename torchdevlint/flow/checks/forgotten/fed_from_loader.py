"""Models that get a batch as the loader made it, where a function or its object is told a device and never reads it.

``def accuracy(model, loader, device)`` was written to move what the loader gives: whoever tells it a device has put the
model there (TDL005). So was a class that keeps ``self.device = device`` and nothing else of it.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.forgotten.unread_devices import unread_parameter
from torchdevlint.flow.events import LayerCalled, Mixed, ModuleCalled, UnknownCalled
from torchdevlint.flow.kinds.loaders import is_input, may_be_no_tensor
from torchdevlint.flow.kinds.managed_batches import moves_batches
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.batch_beside import scatters
from torchdevlint.flow.run.modules import may_move
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names, public_path, root_name
from torchdevlint.flow.scope.parameters import reads_all
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import Device, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import AT_LEAST_1, Library, Step, Tensor, Value
from torchdevlint.source.nodes import assignments_in, is_name, nodes_in, once_a_node

_DEVICE = "device"


def _note_layer(event: LayerCalled) -> None:
    _look(event.frame, event.state, event.node, event.layer, event.operands)


def _note_module(event: ModuleCalled) -> None:
    """A model that an annotation tells to be one."""
    if isinstance(event.module, Library) and event.module.made_at is None:
        _look(event.frame, event.state, event.node, event.node.func, event.arguments.pairs)


def _note_call(event: UnknownCalled) -> None:
    """What is called a model, and nothing else tells of."""
    if is_named_like_a_model(event.node.func):
        _look(event.frame, event.state, event.node, event.node.func, event.arguments.pairs)


def _look(
    frame: Frame, state: State, node: ast.Call, model: ast.expr, operands: list[tuple[ast.expr, Value]]
) -> None:
    if frame.depth or state.guarded or not operands:
        return
    at, value = operands[0]
    if not isinstance(value, Tensor) or not is_input(frame, at, value):
        return
    if _is_whole(frame, at) or may_be_no_tensor(frame, operands, at, value) or may_move(frame, node, at):
        return
    told = _told(frame)
    if told is None or scatters(frame) or moves_batches(frame) or not _is_given(frame, model):
        return
    step = Step("a device that nothing reads", told)
    there = Tensor(Device(Origin.EXPRESSION, _DEVICE), AT_LEAST_1, (), (step,))
    operation = f"`{frame.machine.text_of(node.func)}()`"
    frame.machine.emit(Mixed(frame, state, node, operation, (at, value), (model, there)))


def _is_whole(frame: Frame, node: ast.expr) -> bool:
    """Whether it is all that a loop takes at once, which may be an object that moves in place."""
    function = frame.function
    if not isinstance(node, ast.Name) or function is None:
        return False
    targets = [each.target for each in nodes_in(function, ast.For)]
    targets += [each.target for each in nodes_in(function, ast.comprehension)]
    return any(is_name(each, node.id) for each in targets)


def _is_given(frame: Frame, model: ast.expr) -> bool:
    """Whether the model came from outside, as an argument of the function or its object, which do not move it."""
    function, path = frame.function, dotted_path(model) or ""
    if not isinstance(function, ast.FunctionDef):
        return False
    moves = (each.func for each in nodes_in(function, ast.Call) if isinstance(each.func, ast.Attribute))
    if any(dotted_path(each.value) == path for each in moves if _is_move(each.attr)):
        return False
    begins = frame.owner.methods.get("__init__") if frame.owner is not None else None
    if path.startswith("self.") and begins is not None:
        kept = [each.value for each in assignments_in(begins) if dotted_path(each.targets[0]) == path]
        return len(kept) == 1 and dotted_path(kept[0]) in parameter_names(begins)
    first = path.partition(".")[0]
    bound = [each.value for each in assignments_in(function) if is_name(each.targets[0], first)]
    names = parameter_names(function) - {"self"}
    return first in names if not bound else len(bound) == 1 and root_name(bound[0]) in names


def _is_move(method: str) -> bool:
    return method in torch_api.MOVE_METHODS and method != "cpu"


def _told(frame: Frame) -> ast.AST | None:
    """Where the function, or its object, is told a device that nothing reads."""
    function = frame.function
    if not isinstance(function, ast.FunctionDef):
        return None
    if unread_parameter(frame) == _DEVICE:
        return next(each for each in nodes_in(function, ast.arg) if each.arg == _DEVICE)
    chosen = _chosen(function)
    if chosen is not None or frame.owner is None or function.name == "__init__":
        return chosen
    project = frame.machine.others.project if frame.machine.others is not None else None
    if project is not None and project.importers(project.path):
        return None  # these make the objects, and may leave their models where they are
    kept = _kept(frame.owner)
    return kept if kept is not None and not _is_read(frame.machine.tree) else None


@once_a_node
def _chosen(function: ast.FunctionDef) -> ast.AST | None:
    """``device = torch.device("cuda" if torch.cuda.is_available() else "cpu")``, which nothing reads."""
    if reads_all(function):
        return None
    made = (each for each in assignments_in(function) if is_name(each.targets[0], _DEVICE) and _chooses(each.value))
    found = next(made, None)
    read = any(is_name(each, _DEVICE) and isinstance(each.ctx, ast.Load) for each in nodes_in(function, ast.Name))
    return None if found is None or read else found.node


def _chooses(value: ast.expr) -> bool:
    return any(public_path(call.func) == "torch.cuda.is_available" for call in nodes_in(value, ast.Call))


def _kept(owner: ClassInfo) -> ast.AST | None:
    """``self.device = device`` in the ``__init__`` of a plain class that moves nothing at all, or a choice of it."""
    begins = owner.methods.get("__init__")
    if not isinstance(begins, ast.FunctionDef) or owner.is_module or not owner.resolved or owner.library_bases:
        return None
    if any(_is_move(last_name(each.func)) for each in nodes_in(owner.node, ast.Call)):
        return None
    for each in assignments_in(begins):
        value = each.value
        if isinstance(value, ast.Call) and public_path(value.func) == "torch.device" and value.args:
            value = value.args[0]
        told = is_name(value, _DEVICE) and _DEVICE in parameter_names(begins)
        if dotted_path(each.targets[0]) == "self.device" and (told or _chooses(each.value)):
            return each.node
    return None


@once_a_node
def _is_read(tree: ast.Module) -> bool:
    """Whether a file reads the device of any object."""
    asked = [each for each in nodes_in(tree, ast.Attribute) if each.attr == _DEVICE and isinstance(each.ctx, ast.Load)]
    return any(public_path(each) != "torch.device" for each in asked)


EVENTS = {LayerCalled: _note_layer, ModuleCalled: _note_module, UnknownCalled: _note_call}
