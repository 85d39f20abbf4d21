"""Methods that `torch.nn.Module` brings to every module: moving it, asking for its parameters, registering."""

from __future__ import annotations

import ast
import re

from msgspec.structs import replace

from torchdevlint.flow.events import Escaped, ModuleMethodCalled, Placed
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run import appended, checkpoint_values, metrics
from torchdevlint.flow.run.built_attributes import keep_moved
from torchdevlint.flow.run.built_of_own import REGISTERED
from torchdevlint.flow.run.constant_modules import holds_nothing
from torchdevlint.flow.run.factories import call_factory, is_factory
from torchdevlint.flow.run.hooks import HOOKS, note_hook
from torchdevlint.flow.run.model_places import GIVE_PARAMETERS, parameters_in, place_of_given
from torchdevlint.flow.run.modules import call_module, given_by, opaque_result, where_made
from torchdevlint.flow.run.moves import after_tested, as_moved, method_device, to_device
from torchdevlint.flow.run.objects import adopt, registered, relocate, write_attribute
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.run.unknown_calls import of_inputs
from torchdevlint.flow.scope.brought_back import is_brought_back
from torchdevlint.flow.scope.chains import module_in
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import CPU, DEFAULT, MODEL, TOP, Device, Origin
from torchdevlint.flow.state.joins import alternatives, distribute, element_of, is_module, sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import OF_A_MODEL_ELSEWHERE
from torchdevlint.flow.state.values import TEXT, UNKNOWN, Choice, Const, Library, Obj, Seq, Step, Super, Tensor, Value
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import assignments_in

_STAYS_IN_PLACE = torch_api.MODULE_MODES | torch_api.MODULE_DTYPES | {"apply", "type", "share_memory"}

_GIVES_LOSS = regex(r"(?:^|_)loss(?:_fn|_func)?$", re.IGNORECASE)


def call_module_method(
    frame: Frame,
    state: State,
    node: ast.Call,
    callee: ast.Attribute,
    receiver: Obj | Library | Super,
    arguments: Arguments,
) -> Value:
    """What `torch.nn.Module` brings to every module."""
    target = receiver.receiver if isinstance(receiver, Super) else receiver
    name = callee.attr
    if not is_module(target) or not isinstance(target, (Obj, Library)):
        return UNKNOWN
    frame.machine.emit(ModuleMethodCalled(frame, state, node, callee.value, name, target, arguments))
    if name in torch_api.DEVICE_METHODS or name == "to":
        return _move_module(frame, state, node, callee, target, arguments)
    if name in _STAYS_IN_PLACE:
        return target
    if name in HOOKS:
        note_hook(frame, state, node, target, arguments)
        return UNKNOWN
    device = target.device if target.device is not None and target.device != DEFAULT else TOP
    if name in GIVE_PARAMETERS:
        own = Step("the model's own" if target.device == DEFAULT else OF_A_MODEL_ELSEWHERE, node, of_module=True)
        steps = where_made(target) if target.placed is not None else (own,)
        place = place_of_given(frame, callee.value) if device == TOP and target.device is None else device
        return parameters_in(place, name, steps)
    if name == "forward" and isinstance(receiver, Super) and isinstance(target, Obj):
        # a base that no file shows, which takes and gives what a layer of unknown class does
        operands = [each for given in arguments.pairs for each in tensor_operands(*given)]
        return opaque_result(operands, device, given_by(target, device, node))
    if name == "update" and isinstance(target, Library):
        metrics.compare(frame, state, node, target.name, arguments)
    if name == "state_dict":
        return checkpoint_values.state_dict(frame, node, callee, target)
    if name in ("register_buffer", "register_parameter", "add_module", "register_module"):
        return _register(frame, state, callee, target, arguments)
    if name == "modules" or name == "children":
        return Seq(None, Library("", module=True))
    return _of_library(frame, state, node, callee, target, arguments) if isinstance(target, Library) else UNKNOWN


def _of_library(
    frame: Frame, state: State, node: ast.Call, callee: ast.Attribute, target: Library, arguments: Arguments
) -> Value:
    """What containers, models and losses of libraries have besides."""
    name, place = callee.attr, target.device
    if name in ("append", "extend", "insert", "add"):
        return _grow(frame, state, callee, target, arguments)
    if name in ("items", "values"):
        element = element_of(target)
        return Seq(None, sequence([TEXT, element]) if name == "items" else element)
    if name in _FORWARD or _computes(frame, node, target, arguments) or _is_forward(name, target):
        return call_module(frame, state, node, target, arguments)
    if is_factory(f"{target.name}.{name}"):
        return call_factory(frame, state, node, f"{target.name}.{name}", arguments)
    if place is not None and place not in (DEFAULT, TOP) and _GIVES_LOSS.search(name):
        return _loss(frame, node, place)
    return UNKNOWN if target.placed is None else of_inputs(frame, node, arguments)


_FORWARD = frozenset("forward generate encode_text encode_image get_text_features get_image_features".split())
"""Ways through published models: language models, and CLIP in its packages and in transformers."""
_FILLED = frozenset(f"torch.{name}" for name in "randn rand normal zeros ones full empty randint".split())


def _computes(frame: Frame, node: ast.Call, model: Library, arguments: Arguments) -> bool:
    """Whether a method of a model that was moved surely runs it: ``images = vae.decode(torch.randn(n, 20)).cpu()``.

    It is given what was drawn or filled for it, and somebody brings back what it gives.
    """
    if model.name or model.placed is None or not is_brought_back(frame.function or frame.machine.tree, node):
        return False
    drawn = [each for each in arguments.values if isinstance(each, Tensor) and each.creations]
    return any(each.device == DEFAULT and all(one.function in _FILLED for one in each.creations) for each in drawn)


def _is_forward(name: str, model: Library) -> bool:
    """Whether a method of a model that was moved is one more of its ways forward: ``model.forward_train(x, y)``."""
    return model.placed is not None and name.startswith("forward_") and name not in _DATA_COMES_ALONG


_DATA_COMES_ALONG = frozenset({"forward_backward", "forward_step"})
"""What trainers call a whole step, to which they bring the batch themselves."""


def _loss(frame: Frame, node: ast.Call, device: Device) -> Value:
    """What ``head.forward_loss(batch)`` gives: a loss, or several values of which the first one is."""
    loss = Tensor(device, None, (), (Step("a loss that a module gave", node),), opaque=True)
    scope = frame.function or frame.machine.tree
    unpacked = (each.targets[0] for each in assignments_in(scope) if each.value is node)
    parts = next((len(each.elts) for each in unpacked if isinstance(each, (ast.Tuple, ast.List))), 0)
    return sequence([loss, *[UNKNOWN] * (parts - 1)]) if parts else loss


def _move_module(
    frame: Frame, state: State, node: ast.Call, callee: ast.Attribute, target: Obj | Library, arguments: Arguments
) -> Value:
    """A module moves in place, so the name that it was moved by holds the moved one: ``net.eval().cuda()``."""
    device = to_device(frame, arguments) if callee.attr == "to" else method_device(frame, callee.attr, arguments)
    frame.machine.emit(Escaped(frame, [target]))
    without_parameters = isinstance(target, Library) and target.device is None and bool(target.name)
    if device is None or without_parameters or holds_nothing(frame, target):
        return target
    frame.machine.emit(Placed(frame, state, node, device))
    device = after_tested(frame, state, device)
    held_by = module_in(callee.value)
    path = dotted_path(held_by)
    of_model, is_told = target.device == MODEL, device == CPU or device.origin is Origin.ARGUMENT
    if path == "self":
        _take_along(state, MODEL if of_model else device)
    if of_model and not (is_told and path is not None and path.startswith("self.")):
        return target  # where the rest of the model is already
    moved = as_moved(target, device, Step(f"moved to {device.describe()}", node))
    if path is not None:
        held = state.env.get(path) or state.paths.get(path)
        if isinstance(held, Choice):
            left = distribute(held, lambda each: moved if each == target else each)
            state.bind(path, left)
            if not of_model and all(getattr(each, "placed", None) == moved.placed for _, each in alternatives(left)):
                chosen = {each for where, _ in held.alternatives for each in where}
                keep_moved(frame, tuple(each for each in state.conditions if each not in chosen), held_by, left)
        else:
            state.bind(path, moved)
            if not of_model:
                keep_moved(frame, state.conditions, held_by, moved)
    return moved


def _take_along(state: State, device: Device) -> None:
    """``self.to(device)``: what a method has built before is where the rest of the Module is."""
    for path, held in state.paths.items():
        if path.startswith("self.") and is_module(held):
            state.paths[path] = relocate(adopt(held), device)


def _register(frame: Frame, state: State, callee: ast.Attribute, target: Obj | Library, arguments: Arguments) -> Value:
    """``register_buffer(name, t)`` and its kin: what `self.name` holds moves with the module."""
    name, value = arguments.value(0, "name"), _registered_value(arguments)
    frame.machine.emit(Escaped(frame, [value]))
    if not isinstance(target, Obj) or not isinstance(name, Const) or not isinstance(name.value, str):
        return UNKNOWN
    step = Step(REGISTERED, callee)
    if isinstance(value, Tensor):
        value = replace(registered(value), steps=(replace(step, left=value.device),))
    elif callee.attr in ("register_buffer", "register_parameter"):
        value = Tensor(MODEL, None, (), (step,), parameter=callee.attr == "register_parameter")
    held = write_attribute(target, name.value, value, state.conditions)
    path = dotted_path(callee.value)
    if path is not None:
        state.bind(f"{path}.{name.value}", relocate(held, target.device))
    return UNKNOWN


def _registered_value(arguments: Arguments) -> Value:
    """The second argument, which has another name in each method, and in libraries that override one."""
    named = (
        arguments.keywords[name][1] for name in ("tensor", "param", "parameter", "module") if name in arguments.keywords
    )
    return next(named, arguments.value(1, ""))


def _grow(frame: Frame, state: State, callee: ast.Attribute, target: Library, arguments: Arguments) -> Value:
    frame.machine.emit(Escaped(frame, arguments.values))
    for value in arguments.values[-1:]:
        appended.note(frame, state, callee.value, element_of(value) if callee.attr == "extend" else value)
    grown = replace(target, children=target.children + tuple(arguments.values[-1:]))
    path = dotted_path(callee.value)
    if path is not None and len(grown.children) <= 4:
        state.bind(path, grown)
    return grown
