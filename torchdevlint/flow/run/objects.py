"""Instances: what their attributes hold, and what assigning one does."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from msgspec.structs import replace

from torchdevlint.flow.kinds.beside_buffers import beside_a_buffer
from torchdevlint.flow.kinds.kept_arguments import as_used, may_be_tied
from torchdevlint.flow.kinds.told_buffers import named_as_kept
from torchdevlint.flow.kinds.told_by_default import told_by_default
from torchdevlint.flow.knowledge import libraries, torch_api
from torchdevlint.flow.run import appended
from torchdevlint.flow.run.built_of_own import built_of_own, switches_mode
from torchdevlint.flow.run.instances import as_made
from torchdevlint.flow.run.written_attributes import as_given, is_made_alike, tell_sizes, write
from torchdevlint.flow.scope.asserted import asserts_place
from torchdevlint.flow.scope.own_devices import is_in_stages
from torchdevlint.flow.state.classes import ClassInfo, bind, is_module_class
from torchdevlint.flow.state.devices import DEFAULT, MODEL, TOP, Device, Origin
from torchdevlint.flow.state.entries import Entry
from torchdevlint.flow.state.joins import alternatives, distribute, join
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.others import is_elsewhere
from torchdevlint.flow.state.records import given_fields, of_itself
from torchdevlint.flow.state.tensors import at, sites_in
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    NONE,
    UNKNOWN,
    Choice,
    Cls,
    Conditions,
    Const,
    Library,
    Map,
    Obj,
    Record,
    Ref,
    Seq,
    Site,
    Step,
    Tensor,
    Unknown,
    Value,
)

_MAX_ACTIVE = 20
"""How many functions deep an attribute is followed to the method that assigns it, which may read another one."""


def attribute_of_object(frame: Frame, receiver: Obj, name: str) -> Value:
    """What ``receiver.name`` holds, joined over every method that assigns it; methods are bound; else UNKNOWN."""
    info = receiver.info
    accessor = info.accessor(name, receiver)
    if accessor is not None:
        return accessor
    value: Value | None = None
    for each in info.mro:
        writers = each.writers.get(name)
        if writers:
            _evaluate(frame, writers, each, info)
        found = each.attributes.get(name)
        if found is not None and appended.begins_empty(found):
            _evaluate(frame, appended.appenders(each, name), each, info)
            found = appended.filled(each, name, found, adopt)
        if found is not None:
            value = found if value is None else join(value, found)
    if value is None or value == NONE:
        below = _class_below(info, name)
        value = value if below is None else below
    if value is not None and info.is_dataclass and _may_be_any(frame, receiver) and _is_mere_default(info, name, value):
        return UNKNOWN
    if value is not None and any(each.assigns_by_name(name) for each in info.mro) and sites_in(value):
        return UNKNOWN
    if value is not None:
        placed = None if info.is_module else _placed_by_arguments(receiver, name)
        return placed or as_made(relocate(value, receiver.device) if info.is_module else value, receiver)
    return info.method(name, receiver) or UNKNOWN


def is_any_of(frame: Frame, receiver: Obj) -> bool:
    """Whether it is `self` in a method that is called once the object is made, by whomever."""
    return frame.receiver == receiver and getattr(frame.function, "name", "") not in ("__init__", "__post_init__")


def _may_be_any(frame: Frame, receiver: Obj) -> bool:
    """Whether nothing shows where it was made, and so what it was made of; the one that is being made is no other."""
    return is_any_of(frame, receiver) or (receiver.made_at is None and frame.receiver != receiver)


def _is_mere_default(info: ClassInfo, name: str, value: Value) -> bool:
    """Whether it is what a field of a dataclass holds where none is given: ``kind: str = "mean"``; it may be any."""
    parts = value.items or () if type(value) is Seq else (value,)
    return bool(parts) and all(type(each) is Const for each in parts) and name in given_fields(info)


def _class_below(info: ClassInfo, name: str) -> Value | None:
    """A class of Modules that stands for all that classes below say under the name: each makes one of its own."""
    below = [each for base in info.mro for each in base.classes_below.get(name, ())]
    return below[0] if below and all(map(_makes_modules, below)) else None


def _makes_modules(value: Value) -> bool:
    return is_module_class(value.name) if isinstance(value, Ref) else isinstance(value, Cls) and value.info.is_module


def _placed_by_arguments(receiver: Obj, name: str) -> Value | None:
    """The tensors of an instance that was made here, where its own arguments put them, and not those of others."""
    held = [each.apart_from_calls[name] for each in receiver.info.mro if name in each.apart_from_calls]
    if receiver.made_at is None or len(held) != 1 or not isinstance(held[0], (Tensor, Seq, Map, Record)):
        return None
    placed = as_made(held[0], receiver)
    return None if placed == held[0] else placed


def _evaluate(frame: Frame, methods: Sequence[ast.AST], info: ClassInfo, concrete: ClassInfo) -> None:
    """Run methods that write to `self`, if they have not been run, to learn what they leave there.

    What a base in another file writes, it writes to the class below it that is asked, and to no other one. While
    ``__init__`` is run nothing else has written yet, and what the others read is not there.
    """
    machine, active = frame.machine, frame.machine.active
    left = [each for each in methods if each not in info.evaluated and each not in concrete.evaluated]
    if not left or len(active) >= _MAX_ACTIVE:
        return
    if any(each.methods.get("__init__") in active for each in concrete.mro):
        return
    for method in left:
        if method in concrete.evaluated or method in active:
            continue
        receiver = self_of(concrete)
        function = bind(info, method, receiver)  # type: ignore[arg-type]
        kind = _entry_kind(function.qualname, info)
        unseen = is_elsewhere(function)
        (concrete if unseen else info).evaluated.add(method)
        machine.muted += 1
        machine.unseen += unseen
        try:
            machine.enter(machine, function, Entry(kind, function.qualname, concrete), None)
        finally:
            machine.unseen -= unseen
            machine.muted -= 1


def _entry_kind(method: str, info: ClassInfo) -> str:
    """What a method is entered as: of an object that is no Module, ``__init__`` is a function like any other."""
    if not info.is_module:
        return "function"
    return "init" if method.endswith(".__init__") else "method"


def self_of(info: ClassInfo) -> Value:
    """`self` in a method that is looked at on its own: the model is where models are."""
    record = of_itself(info.record) if info.record is not None else None
    return Obj(info, MODEL if info.is_module else TOP) if record is None else record


def relocate(value: Value, device: Device) -> Value:
    """An attribute as seen from an instance on `device`, where the summary says the model's device."""
    if device == MODEL:
        return value
    if isinstance(value, Obj) and _is_defined_inside(value.info):
        return UNKNOWN
    target = TOP if device == DEFAULT else device
    if isinstance(value, Tensor) and value.device == MODEL:
        return replace(value, device=target)
    if isinstance(value, Obj) and value.device == MODEL:
        return replace(value, device=target)
    if isinstance(value, Library) and value.device == MODEL:
        return replace(value, device=target, children=tuple(relocate(each, device) for each in value.children))
    if isinstance(value, Choice):
        return distribute(value, lambda each: relocate(each, device))
    return value


def _is_defined_inside(info: ClassInfo) -> bool:
    """Whether a method defines the class, which may see the `self` of the summary."""
    scopes = info.closure.scopes
    return any(each is not scopes[-1] for each in scopes)


def write_attribute(receiver: Value, name: str, value: Value, where: Conditions = (), passing: bool = False) -> Value:
    """Assign ``receiver.name = value`` in the summary of its class, unless only in passing; give what is held then."""
    if not isinstance(receiver, Obj):
        return value
    info = receiver.info
    if info.is_module:
        value = value if _is_a_stage(value, info) else adopt(value)
    elif not info.resolved:
        value = _maybe_registered(value)
    if passing or (receiver.made_at is not None and name in info.attributes and _is_from_callers(value)):
        return value
    if info.attributes.get(name, NONE) == NONE and name in given_fields(info):
        info.attributes[name] = Unknown(given=Device(Origin.ARGUMENT, "self"))
    first = info.written_if.setdefault(name, where)
    if where and not first and name in info.attributes and is_made_alike(info.attributes[name], value):
        first = info.written_if[name] = where  # a call had settled the test around it
    value = as_given(info, name, value)
    write(info.attributes, name, value, first, where, info.is_module)
    if info.is_module:
        tell_sizes(info, name, value)
    if receiver.made_at is None:
        write(info.apart_from_calls, name, value, first, where, info.is_module)
    return value


def _is_from_callers(value: Value) -> bool:
    """Whether it is where an argument of the code is that made the instance: that says no more than `self` knows.

    So it is of a class that makes another one of what it holds, as ``inverse`` and ``transpose`` do.
    """
    held = [each for _, each in alternatives(value) if each != NONE]
    return bool(held) and all(isinstance(each, Tensor) and each.device.origin is Origin.ARGUMENT for each in held)


def _is_a_stage(value: Value, info: ClassInfo) -> bool:
    """Whether a layer is put on one of several accelerators that its Module names by number, and stays there."""
    numbered = isinstance(value, Library) and value.device is not None and value.device.index is not None
    return numbered and is_in_stages(info.node)


def _maybe_registered(value: Value) -> Value:
    """A Parameter that is assigned where a base may be a Module: it is registered then, and moves along."""
    if isinstance(value, Choice):
        return distribute(value, _maybe_registered)
    if isinstance(value, Tensor) and value.parameter:
        return replace(value, device=TOP, creations=())
    return value


def keep(frame: Frame, receiver: Obj, target: ast.Attribute, value: Value) -> Value:
    """What a Module keeps that ``__init__`` was given: no Module moves a tensor that it does not register.

    Nor does it move what ``train`` or ``eval`` has made of its parameters, when it is moved behind that.
    """
    if not receiver.info.is_module:
        return value
    if isinstance(value, Choice):
        return distribute(value, lambda each: keep(frame, receiver, target, each))
    if frame.entry.kind != "init":
        cached = isinstance(value, Tensor) and (frame.context == "init" or switches_mode(frame))
        return built_of_own(frame, receiver.info, target, value) if cached else value  # type: ignore[arg-type]
    value = as_used(receiver.info, target, value) if isinstance(value, Unknown) else value
    value = named_as_kept(frame, target, _kept(frame, receiver, target, value))
    value = told_by_default(frame, receiver.info, target, value)
    return beside_a_buffer(frame, receiver.info, target, value)


def _kept(frame: Frame, receiver: Obj, target: ast.Attribute, value: Value) -> Value:
    if not isinstance(value, Tensor) or value.parameter:
        return value
    if value.device.origin is not Origin.ARGUMENT:
        return built_of_own(frame, receiver.info, target, value)
    if value.device.name in receiver.info.given_to_unseen_base or asserts_place(frame.function, value.device.name):
        return value
    if frame.function is not None and may_be_tied(receiver.info, frame.function, target):
        return Unknown(given=value.device)
    site = Site(target, "", "init", frame.scope, False, None)
    step = Step(f"kept as `self.{target.attr}`", target)
    return Tensor(Device(Origin.KEPT, value.device.name), value.ndim, (site,), (*value.steps[:1], step))


def adopt(value: Value) -> Value:
    """What a Module registers moves with it: its parameters and submodules, not plain tensors or lists."""
    if type(value) is Tensor and value.parameter:
        return registered(value)
    if isinstance(value, Library) and value.placed is not None and value.device != DEFAULT:
        return replace(value, device=TOP)
    if isinstance(value, Library) and value.module and (value.device is not None or not value.name):
        return replace(value, device=MODEL, children=tuple(adopt(each) for each in value.children))
    if isinstance(value, Obj) and value.info.is_module:
        return replace(value, device=MODEL)
    if isinstance(value, Choice):
        return distribute(value, adopt)
    return value


def on_the_model(value: Value) -> Value:
    """What a helper gives that moves a tensor, or every tensor in a container, to where the model is."""
    if isinstance(value, Tensor):
        return at(value, MODEL)
    if isinstance(value, Seq):
        items = None if value.items is None else tuple(on_the_model(each) for each in value.items)
        return Seq(items, on_the_model(value.element))
    if isinstance(value, Map):
        return Map(tuple((key, on_the_model(each)) for key, each in value.items), on_the_model(value.element))
    return UNKNOWN


def registered(tensor: Tensor) -> Tensor:
    """A buffer or parameter: where the model is, whatever made it."""
    steps = tuple(replace(each, left=tensor.device) for each in tensor.steps[-1:])
    return Tensor(MODEL, tensor.ndim, (), steps, parameter=tensor.parameter)


def attribute_of_library(receiver: Library, name: str) -> Value:
    """An attribute of a library module that is a tensor or a module; methods are resolved where they are called."""
    if not receiver.module:
        return UNKNOWN
    if receiver.inner is not None and receiver.name == "torch.compile":
        return attribute_of_library(receiver.inner, name) if isinstance(receiver.inner, Library) else UNKNOWN
    if name == "module" and receiver.inner is not None:
        return receiver.inner
    if libraries.is_part_with_weights(receiver.name, name):
        return receiver
    if (
        name in _PARAMETER_NAMES
        and receiver.device is not None
        and receiver.name.rpartition(".")[2] in (torch_api.PARAMETER_MODULES)
    ):
        return Tensor(receiver.device, AT_LEAST_1, (), _where_weight_is(receiver), parameter=name not in _BUFFER_NAMES)
    return UNKNOWN


def _where_weight_is(layer: Library) -> tuple[Step, ...]:
    if layer.placed is not None:
        return (replace(layer.placed, of_module=True),)
    if layer.made_at is None:
        return ()
    return (Step(f"a parameter of the `{layer.name}` here", layer.made_at, of_module=True),)


_BUFFER_NAMES = frozenset({"running_mean", "running_var"})
_PARAMETER_NAMES = _BUFFER_NAMES.union("weight bias in_proj_weight in_proj_bias weight_ih weight_hh".split())
