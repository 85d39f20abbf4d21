"""What reading an attribute gives, for each kind of receiver."""

from __future__ import annotations

import ast
from functools import lru_cache

from msgspec.structs import replace

from torchdevlint.flow.events import AttributeRead, DeviceRead, GradientRead
from torchdevlint.flow.kinds.encoded import entry_of_encoding
from torchdevlint.flow.kinds.graphs import entry_of_graph
from torchdevlint.flow.kinds.kept_arguments import is_kept_argument
from torchdevlint.flow.kinds.known_devices import ACCELERATOR_OF_CPU
from torchdevlint.flow.kinds.optimizers import parameter_groups
from torchdevlint.flow.kinds.parts_by_attribute import part_under_attribute
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run import distributions
from torchdevlint.flow.run.asked_models import note_asked
from torchdevlint.flow.run.functions import run_function
from torchdevlint.flow.run.imports import member
from torchdevlint.flow.run.made_of_host import is_made_of_host
from torchdevlint.flow.run.objects import attribute_of_library, attribute_of_object, is_any_of
from torchdevlint.flow.run.prepared import accelerator_of
from torchdevlint.flow.run.saved_for_backward import saved_by_forward
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.chains import module_in
from torchdevlint.flow.scope.decorators import is_property
from torchdevlint.flow.scope.filled_attributes import filled_on_host
from torchdevlint.flow.scope.names import (
    canonical,
    dotted_path,
    is_dtype_name,
    last_name,
    mentions_device,
    names_one_of,
)
from torchdevlint.flow.scope.uses import uses_in
from torchdevlint.flow.state import records
from torchdevlint.flow.state.devices import CPU, DEFAULT, LOADER, MODEL, TOP, Device, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives, distribute, element_of, settle
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.members import writers_of
from torchdevlint.flow.state.others import Imported, owner_of
from torchdevlint.flow.state.point import State, without_none
from torchdevlint.flow.state.tensors import OF_A_MODEL_ELSEWHERE
from torchdevlint.flow.state.values import (
    GIVEN,
    NONE,
    NUMBER,
    NUMBERS,
    UNKNOWN,
    Choice,
    Cls,
    Const,
    Dev,
    Dtype,
    Func,
    Guard,
    Library,
    Obj,
    Record,
    Ref,
    Seq,
    Step,
    Super,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.source.nodes import nodes_in


def attribute(frame: Frame, node: ast.Attribute, state: State, receiver: Value) -> Value:
    """What reading ``receiver.name`` gives; UNKNOWN for methods of library values, which only calls resolve."""
    name = node.attr
    if type(receiver) is Unknown:  # most are
        return _attribute_of_anything(frame, node, state, receiver)
    if type(receiver) is Tensor:
        return _tensor_attribute(frame, node, state, receiver)
    if type(receiver) is Obj:
        return _object_attribute(frame, node, state, receiver)
    if type(receiver) is Imported:
        brought = member(frame, receiver, name)
        if brought is not None:
            return brought
    if isinstance(receiver, Ref):
        return _public(f"{receiver.name}.{name}")
    if type(receiver) is Cls:
        held = receiver.info.attributes.get(name)
        return held if held is not None else receiver.info.method(name, None) or UNKNOWN
    if type(receiver) is Record:
        return _record_attribute(frame, node, state, receiver)
    if type(receiver) is Super:
        return receiver.info.inherited(name, receiver.receiver) or UNKNOWN
    if type(receiver) is Choice:
        return distribute(without_none(receiver), lambda each: attribute(frame, node, state, each))
    if isinstance(receiver, Library) and distributions.is_distribution(receiver.name):
        return distributions.attribute(receiver, name)
    if isinstance(receiver, Library):
        frame.machine.emit(AttributeRead(frame, state, node, receiver))
        return attribute_of_library(receiver, name)
    if isinstance(receiver, Seq) and name in ("values", "indices"):
        return receiver.element
    return receiver if isinstance(receiver, Dev) and name == "type" else UNKNOWN


def _attribute_of_anything(frame: Frame, node: ast.Attribute, state: State, receiver: Unknown) -> Value:
    found = _attribute_of_unknown(frame, node, state, receiver)
    if type(found) is Dev:
        note_asked(frame, state, node, found.device)
    return found if found != UNKNOWN else _parameter_of_placed(frame, node, state)


@lru_cache(maxsize=8192)
def _public(name: str) -> Value:
    """What stands under a dotted name of a library."""
    full = canonical(name)
    return Dtype() if is_dtype_name(full) else Ref(full)


_FOR_THE_HOST = frozenset({"images", "texts", "text", "audios", "frames"})
"""What outputs of pipelines hold as lists, images or arrays."""


def _tensor_attribute(frame: Frame, node: ast.Attribute, state: State, receiver: Tensor) -> Value:
    name = node.attr
    if name == "grad":
        frame.machine.emit(GradientRead(frame, state, node))
    if name == "device":
        if receiver.creations and receiver.device == DEFAULT and frame.owner is not None:
            frame.machine.emit(DeviceRead(frame, state, node, receiver))
        device = _device_of(frame, node, receiver)
        note_asked(frame, state, node, device)
        return Dev(device, receiver.creations)
    if name == "shape":
        return NUMBERS
    if name == "dtype":
        return Dtype()
    if name == "is_cuda":
        return Const(False) if on_cpu(receiver.device) else Guard(True)
    if name == "ndim":
        return NUMBER
    if name in _FOR_THE_HOST or name in torch_api.KEPT_ON_HOST:
        return UNKNOWN
    if name in torch_api.TENSOR_ATTRIBUTES:  # of a Parameter they are plain tensors, on every machine
        return replace(receiver, parameter=False) if receiver.parameter else receiver
    if receiver.opaque and receiver.device == LOADER:
        part = entry_of_encoding(receiver, name) or entry_of_graph(frame, receiver, node)
        return part or part_under_attribute(frame, receiver, node) or UNKNOWN
    holds_some = receiver.device.origin is Origin.ARGUMENT and not torch_api.is_of_tensors(name)  # and so is none
    return Unknown(given=receiver.device) if receiver.opaque or holds_some else UNKNOWN


def _device_of(frame: Frame, node: ast.Attribute, receiver: Tensor) -> Device:
    """Where a tensor is; ``next(model.parameters()).device`` of a model that came from elsewhere names a place as well.

    Who asks for it means to go there, wherever that is.
    """
    own = bool(receiver.steps) and receiver.steps[0].text == OF_A_MODEL_ELSEWHERE
    elsewhere = receiver.device == TOP or receiver.device.origin is Origin.ARGUMENT
    if not elsewhere or not own or owner_of(frame.closure) is not None:
        return receiver.device
    return Device(Origin.EXPRESSION, frame.machine.text_of(node))


def _object_attribute(frame: Frame, node: ast.Attribute, state: State, receiver: Obj) -> Value:
    value = attribute_of_object(frame, receiver, node.attr)
    if type(value) is Func and is_property(value.node):
        return run_function(frame, state, node, value, (), {})
    if type(value) is Unknown:
        frame.machine.emit(AttributeRead(frame, state, node, receiver))
        found = _attribute_of_unknown(frame, node, state, UNKNOWN)
        if found == UNKNOWN and node.attr == "accelerator":
            return accelerator_of(receiver, node.attr)
        if found == UNKNOWN and node.attr == "param_groups":
            return parameter_groups(receiver.info, node)
        inherited = receiver.info.is_module and not receiver.info.resolved and receiver.device == MODEL
        inherited = inherited and not any(node.attr in filled_on_host(each.node) for each in receiver.info.mro)
        inherited = inherited and not is_kept_argument(receiver.info, node.attr)
        return GIVEN if found == UNKNOWN and inherited and frame.context == "forward" else found
    value = settle(value, state.conditions)
    if _is_nothing_yet(value):
        is_set_here = _is_set_here(frame, receiver, node.attr)
        if is_set_here or _is_set_by_others(frame, receiver, node.attr):
            found = _attribute_of_unknown(frame, node, state, UNKNOWN)
            return Choice((((), NONE), ((), found))) if is_set_here and isinstance(found, Dev) else found
    return _one_device(frame, node, value) if mentions_device(node.attr) and not receiver.given else value


def _is_nothing_yet(value: Value) -> bool:
    """Whether it is None or False, or begins with one of them, as a flag beside what it stands for."""
    first = value.items[0] if type(value) is Seq and value.items else value
    return type(first) is Const and (first.value is None or first.value is False)


def _is_set_by_others(frame: Frame, receiver: Obj, name: str) -> bool:
    """Whether all that a class writes to an attribute, or its body binds for `self`, is ``None`` or ``False``.

    It asks for it, and whoever has the object puts something there. A name that begins with an underscore is nobody
    else's, but one of a device.
    """
    if not mentions_device(name) and (name.startswith("_") or receiver.given is not None):
        return False
    written = [each for info in receiver.info.mro for each in values_by_path(info.node).get(f"self.{name}", ())]
    if is_any_of(frame, receiver):
        written += [each for info in receiver.info.mro for each in _in_body(info.node, name)]
    return bool(written) and all(isinstance(each, (ast.Constant, ast.Tuple)) for each in written)


def _in_body(node: ast.ClassDef, name: str) -> list[ast.expr]:
    """What the body of a class binds a name to: ``anchors = None``."""
    bound = [each for each in node.body if isinstance(each, (ast.Assign, ast.AnnAssign)) and each.value is not None]
    targets = ((each.targets if isinstance(each, ast.Assign) else [each.target], each.value) for each in bound)
    return [value for several, value in targets if value is not None and names_one_of(name, several)]


def _is_set_here(frame: Frame, receiver: Obj, name: str) -> bool:
    """Whether a method writes it that is being run, and so was not seen to write: it has, when it is called again."""
    active = frame.machine.active
    running = [each for each in writers_of(receiver.info, name) if each in active]
    return bool(running) and not {each.methods.get("__init__") for each in receiver.info.mro}.issuperset(running)


def _one_device(frame: Frame, node: ast.Attribute, value: Value) -> Value:
    """The device that an object keeps, which is one of several, or one that is not known: whatever it is, it is one."""
    held = [each for _, each in alternatives(value) if each != NONE]
    known = [each for each in held if isinstance(each, Dev) and not each.creations]
    texts = [each for each in held if isinstance(each, Const) and isinstance(each.value, str)]
    if not known or len(known) + len(texts) < len(held) or frame.function in frame.machine.pipeline:
        return value
    on_host = all(each.device == CPU for each in known) and all(each.value == "cpu" for each in texts)
    if not node.attr.startswith("_") and on_host:
        return Dev(TOP)
    if len(held) == 1 and known[0].device != TOP:
        return value
    return Dev(Device(Origin.EXPRESSION, dotted_path(node) or frame.machine.text_of(node)))


def one_of(frame: Frame, node: ast.Subscript, held: Seq) -> Value:
    """An item of a sequence; of ``layout.devices[0]`` it may not be known which device that is: it is one."""
    item = element_of(held)
    if type(item) is not Dev or item.device != TOP or not mentions_device(last_name(node.value)):
        return item
    if frame.function in frame.machine.pipeline:
        return item
    return Dev(Device(Origin.EXPRESSION, dotted_path(node) or frame.machine.text_of(node)))


def _record_attribute(frame: Frame, node: ast.Attribute, state: State, receiver: Record) -> Value:
    value = records.attribute(receiver, node.attr)
    if isinstance(value, Func) and is_property(value.node):
        return run_function(frame, state, node, value, (), {})
    return _unknown_attribute(frame, node) if isinstance(value, Unknown) else settle(value, state.conditions)


def _attribute_of_unknown(frame: Frame, node: ast.Attribute, state: State, receiver: Unknown) -> Value:
    """What another file calls the device of something unknown says nothing here, nor where a caller's tensor is."""
    if receiver.made_by == ACCELERATOR_OF_CPU and node.attr == "device":
        return Dev(CPU)
    if mentions_device(node.attr) and (owner_of(frame.closure) is not None or _is_tensor_of_a_caller(frame, node)):
        return Dev(TOP)
    if node.attr == "device" and receiver.given is None and is_made_of_host(frame, state, node.value):
        return Dev(TOP)
    saved = saved_by_forward(frame, node, receiver)
    if saved is not None:
        return saved
    found = _unknown_attribute(frame, node)
    follows = receiver.given is not None and node.attr not in torch_api.KEPT_ON_HOST
    return receiver if isinstance(found, Unknown) and follows else found


def _is_tensor_of_a_caller(frame: Frame, node: ast.Attribute) -> bool:
    """Whether it is the device of something that is used as a tensor, in a call that gives something unknown.

    What is entered by itself gets its arguments from anywhere; a call gets them from where the caller works.
    """
    if not frame.depth or frame.function is None or node.attr != "device" or not isinstance(node.value, ast.Name):
        return False
    uses = uses_in(frame.function).get(node.value.id)
    return uses is not None and (uses.is_tensor or uses.has_dimensions or "shape" in uses.attributes)


def _unknown_attribute(frame: Frame, node: ast.Attribute) -> Value:
    if mentions_device(node.attr):
        if frame.function in frame.machine.pipeline:
            return Dev(TOP)
        return Dev(Device(Origin.EXPRESSION, dotted_path(node) or frame.machine.text_of(node)))
    if node.attr == "is_cuda":
        return Guard(True)
    if node.attr == "dtype":
        return Dtype()
    if node.attr == "shape":
        return NUMBERS
    if node.attr in ("weight", "bias") and _is_layer_of_self(frame, node.value):
        return Tensor(
            MODEL, None, (), (Step(f"`{dotted_path(node)}` is a parameter of the model", node),), parameter=True
        )
    return UNKNOWN


def _parameter_of_placed(frame: Frame, node: ast.Attribute, state: State) -> Value:
    """``net.fc.weight`` and ``net.layers[0].bias``, where `net` was moved: a layer of a model is where that is."""
    if node.attr not in ("weight", "bias"):
        return UNKNOWN
    holder = node.value
    while isinstance(holder, (ast.Attribute, ast.Subscript)):
        holder = holder.value
        held = frame.evaluate(holder, state) if isinstance(holder, (ast.Name, ast.Attribute)) else UNKNOWN
        if isinstance(held, Library):
            if not held.module or held.placed is None or held.device in (None, TOP, DEFAULT):
                return UNKNOWN
            if _is_moved_again(frame, dotted_path(holder), held.placed.node):
                return UNKNOWN
            step = Step(
                f"`{frame.machine.text_of(node)}` is a parameter of a model that was moved", node, of_module=True
            )
            return Tensor(held.device or TOP, None, (), (held.placed, step), parameter=True)
    return UNKNOWN


def _is_moved_again(frame: Frame, path: str | None, placed: ast.AST) -> bool:
    """Whether this function moves a model at another place than the one that is known, as it may one of the file."""
    calls = nodes_in(frame.function, ast.Call) if frame.function is not None else ()
    moves = (each for each in calls if isinstance(each.func, ast.Attribute) and each is not placed)
    return any(
        each.func.attr in torch_api.MOVE_METHODS and dotted_path(module_in(each.func.value)) == path  # type: ignore[attr-defined]
        for each in moves
    )


def _is_layer_of_self(frame: Frame, node: ast.expr) -> bool:
    """``self.layer`` in a Module that is where the model is, for a layer that a base in another file made."""
    named = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    if not named or frame.owner is None or not frame.owner.is_module:
        return False
    return not isinstance(frame.receiver, Obj) or frame.receiver.device == MODEL
