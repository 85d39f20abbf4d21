"""Models whose place a function asks for, without bringing there what it gives to them.

``device = next(model.parameters()).device`` says that the model may be anywhere, so what factories of the same
function make on the CPU is not where it is (TDL004, TDL014), nor what a loader gives (TDL005). Nor is it where a
function takes the device of an argument for the rest that it makes, ``device = x.device``. Where nothing reads the
answer, an argument that is handed on to the model, or to a method of it, stays where it was (TDL310).
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.operands.made_here import is_made_here
from torchdevlint.flow.events import FunctionCalled, LayerCalled, MethodCalled, Mixed
from torchdevlint.flow.facts.devices import DeviceNotForwarded
from torchdevlint.flow.kinds.loaders import is_input
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.batch_beside import scatters
from torchdevlint.flow.run.modules import may_move
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.chains import moved_in
from torchdevlint.flow.scope.followed_devices import followed_in
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import (
    dotted_path,
    last_name,
    mentions_cuda,
    mentions_device,
    names_of_item,
    parameter_names,
)
from torchdevlint.flow.state.devices import Device, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import AT_LEAST_1, Step, Tensor, Unknown
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import assignments_in, inside, nodes_in, once_a_node

_OWN = frozenset({"parameters", "buffers"})
_MATRIX = 2
_KEEPS = regex(r"load|save|add|set|append|push|update|insert|store|regist|fit|log|init|put|compile|export|trace")
"""Methods that take a tensor to keep it, or do with it what is no matter of places."""
_READ_ALL = frozenset({"locals", "eval", "exec"})


def _note_layer(event: LayerCalled) -> None:
    """``model(torch.from_numpy(image))`` of a function that has asked where `model` is."""
    frame, node = event.frame, event.node
    path = dotted_path(event.layer)
    asked = _asked(frame, path)
    if asked is None or path is None or path.startswith("self.") or event.state.guarded or scatters(frame):
        return
    for at, value in event.operands[:1]:
        if is_bookkeeping(dotted_path(at)) or not isinstance(value, Tensor) or may_move(frame, node, at):
            continue
        if is_made_here(frame, value) or is_input(frame, at, value):
            step = Step(f"asks where `{path}` is", asked)
            model = Tensor(Device(Origin.MODEL), AT_LEAST_1, (), (step,))
            operation = f"`{frame.machine.text_of(node.func)}()`"
            frame.machine.emit(Mixed(frame, event.state, node, operation, (at, value), (event.layer, model)))
        else:
            _note_given(frame, event.state, asked, path, node, at, value)


def _note_method(event: MethodCalled) -> None:
    """``self.decoder.step(torch.tensor([start]))`` of a function that makes the rest where its argument is."""
    frame, func, given = event.frame, event.node.func, event.arguments.positional
    if type(event.receiver) is not Unknown or not isinstance(func, ast.Attribute) or not given:
        return
    if frame.depth or event.state.guarded or not is_named_like_a_model(func.value) or _is_no_step(func.attr):
        return
    name = _followed(frame)
    at, value = given[0]
    if not name or not isinstance(value, Tensor) or not is_made_here(frame, value) or is_bookkeeping(dotted_path(at)):
        return
    if (value.ndim or 0) >= _MATRIX or all(_is_of_data(each.function) for each in value.creations):
        step = Step(f"what this function makes is where `{name}` is", event.node)
        model = Tensor(Device(Origin.ARGUMENT, name), AT_LEAST_1, (), (step,))
        operation = f"`{frame.machine.text_of(func)}()`"
        frame.machine.emit(Mixed(frame, event.state, event.node, operation, (at, value), (func.value, model)))


def _is_no_step(method: str) -> bool:
    """Whether a method asks for lengths, or keeps what it is given; ``decoder.step(..)`` works on it."""
    return (method != "step" and is_bookkeeping(method)) or _KEEPS.search(method) is not None


def _is_of_data(factory: str) -> bool:
    """Whether it makes a tensor of what it is given: ``torch.tensor([token])``, and no vector of flags to be filled."""
    return factory.rpartition(".")[2] in torch_api.DATA_FACTORIES


def _followed(frame: Frame) -> str:
    """The argument whose device the function gives to other things that it makes; empty if there is none."""
    function = frame.function
    if not isinstance(function, ast.FunctionDef) or frame.context == "init" or not _moves_any(function):
        return ""
    followed = followed_in(function) & parameter_names(function)
    return min(followed) if len(followed) == 1 else ""


def _note_function(event: FunctionCalled) -> None:
    """``self.encode(waveform)`` of a method that has asked where `self` is, and reads nothing of the answer."""
    frame, node = event.frame, event.node
    holder = node.func.value if isinstance(node.func, ast.Attribute) else None
    path = dotted_path(holder) if holder is not None else None
    asked = _asked(frame, path)
    if asked is None or path is None or _brings_any(event.function.node) or not event.arguments.positional:
        return
    for at, value in tensor_operands(*event.arguments.positional[0]):
        if isinstance(value, Tensor):
            _note_given(frame, event.state, asked, path, node, at, value)


def _note_given(
    frame: Frame, state: State, asked: ast.expr, path: str, node: ast.Call, at: ast.expr, value: Tensor
) -> None:
    """An argument that is handed on as it came, or a part of it, where the answer is read by nobody."""
    function, machine = frame.function, frame.machine
    if not isinstance(function, ast.FunctionDef) or function.name.startswith("_") or is_bookkeeping(dotted_path(at)):
        return
    name = _unread(function, asked)
    if not name or value.moved or value.ndim == 0 or value.device.origin is not Origin.ARGUMENT or _moves_any(function):
        return
    machine.record(
        ("asked place", function),
        lambda: DeviceNotForwarded(
            machine.span_of(at),
            frame.scope,
            name,
            "asked",
            path,
            f"{machine.text_of(at)}.to({name})",
            machine.span_of(asked),
            machine.text_of(node.func),
            True,
            False,
        ),
        state,
    )


def _asked(frame: Frame, path: str | None) -> ast.expr | None:
    """Where the function that was entered asks for the place of a model, if nothing in it moves that model."""
    function = frame.function
    if path is None or frame.depth or function is None or isinstance(function, ast.Lambda):
        return None
    asked = _asked_in(function).get(path)
    return asked if asked is not None and path not in moved_in(function) else None


@once_a_node
def _asked_in(function: FunctionNode) -> dict[str, ast.expr]:
    """``next(model.parameters()).device``, by the path of the model."""
    found: dict[str, ast.expr] = {}
    for each in nodes_in(function, ast.Attribute):
        first = each.value
        if each.attr != "device" or not isinstance(first, ast.Call) or dotted_path(first.func) != "next":
            continue
        given = first.args[0] if first.args else first
        if isinstance(given, ast.Call) and last_name(given.func) == "iter" and given.args:
            given = given.args[0]
        if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in _OWN:
            path = dotted_path(given.func.value)
            if path is not None:
                found[path] = each
    return found


def _unread(function: ast.FunctionDef, asked: ast.expr) -> str:
    """The name that the answer is bound to, if nothing in the function reads it."""
    bound = [each.targets for each in assignments_in(function) if each.value is asked]
    names = [each.id for targets in bound for each in targets if isinstance(each, ast.Name)]
    read = {each.id for each in nodes_in(function, ast.Name) if not isinstance(each.ctx, ast.Store)}
    return names[0] if len(names) == 1 and read.isdisjoint((names[0], *_READ_ALL)) else ""


@once_a_node
def _brings_any(function: ast.AST) -> bool:
    """Whether a function brings anything to a device; what it makes where its argument is does not move that."""
    return any(
        last_name(each.func) in torch_api.PLACING_METHODS and _is_placing(each) for each in nodes_in(function, ast.Call)
    )


@once_a_node
def _moves_any(function: ast.AST) -> bool:
    """Whether a function brings anything to a device, or makes something on one."""
    return any(_is_placing(each) for each in nodes_in(function, ast.Call))


def _is_placing(call: ast.Call) -> bool:
    if any(each.arg == "device" for each in call.keywords):
        return True
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in torch_api.PLACING_METHODS:
        return mentions_device(last_name(call.func)) or mentions_cuda(last_name(call.func))
    given = [name for each in call.args for one in inside(each) for name in _names(one)]
    return call.func.attr != "to" or any(mentions_device(each) or mentions_cuda(each) for each in given)


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    return list(names_of_item(node)) if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) else []


SAYING = ("cuda", "device")
EVENTS = {LayerCalled: _note_layer, FunctionCalled: _note_function, MethodCalled: _note_method}
