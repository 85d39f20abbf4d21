"""Moves: where a method such as ``.to()`` brings a tensor, and what it gives; a Module and its parts afterwards."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.events import Placed
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.arguments import as_device, move_target
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import CPU, DEFAULT, TOP, Device, Origin, on_cpu
from torchdevlint.flow.state.joins import distribute
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import at
from torchdevlint.flow.state.values import (
    NONE,
    Choice,
    Const,
    Dev,
    Dtype,
    Library,
    Obj,
    Ref,
    Step,
    Tensor,
    Unknown,
    Value,
)


def move(frame: Frame, state: State, node: ast.Call, receiver: Tensor, device: Device | None) -> Tensor:
    """The tensor that a move gives; `device` is None when only the dtype changes."""
    if device is None or device == DEFAULT:
        return receiver
    frame.machine.emit(Placed(frame, state, node, device))
    device = after_tested(frame, state, device)
    frame.machine.arrivals.note_move(frame.function, node, receiver, device)
    return at(receiver, device, Step(f"moved to {device.describe()}", node, left=receiver.device))


def move_to(frame: Frame, state: State, node: ast.Call, receiver: Tensor, arguments: Arguments) -> Tensor:
    """What ``x.to(..)`` and ``x.type_as(..)`` give."""
    behind = _brought_behind(frame, node, receiver, arguments)
    return behind or move(frame, state, node, receiver, to_device(frame, arguments, receiver))


def _brought_behind(frame: Frame, node: ast.Call, receiver: Tensor, arguments: Arguments) -> Tensor | None:
    """What ``x.type_as(self.scale)`` brings to a tensor that ``__init__`` made, and that the Module leaves on the CPU.

    None where it was there before, or nobody knows where it was.
    """
    named = arguments.keywords.get("device") or arguments.keywords.get("other")
    given = named or next(iter(arguments.positional), None)
    kept = given[1] if given is not None else None
    if not isinstance(kept, (Dev, Tensor)) or kept.device != DEFAULT or not kept.creations or not _is_kept(frame, kept):
        return None
    if on_cpu(receiver.device) or receiver.device.origin in (Origin.TOP, Origin.KEPT):
        return None
    steps = (*receiver.steps[:1], Step("moved to an attribute that stays on the CPU", node))
    return replace(receiver, device=DEFAULT, creations=kept.creations, steps=steps, moved=False, parameter=False)


def _is_kept(frame: Frame, kept: Dev | Tensor) -> bool:
    """Whether ``__init__`` of a Module made it, and that is over."""
    owner = frame.owner
    made = all(site.where == "init" for site in kept.creations)
    return made and owner is not None and owner.is_module and frame.context != "init" and frame.entry.kind != "init"


def after_tested(frame: Frame, state: State, device: Device) -> Device:
    """Where a move to CUDA brings something below ``if x.is_cuda:``: to `x`, wherever that is."""
    tested = state.cuda_of
    if tested is None or dotted_path(tested) is None or device != Device(Origin.LITERAL, "cuda"):
        return device
    value = frame.evaluate(tested, state)
    return value.device if isinstance(value, Tensor) and not on_cpu(value.device) else TOP


def to_device(frame: Frame, arguments: Arguments, receiver: Tensor | None = None) -> Device | None:
    """The target of ``.to(..)`` or ``.type_as(..)``; None if no device is given, or ``None``, which moves nothing."""
    if receiver is not None and _is_there_already(receiver, arguments):
        return None
    given = arguments.keywords.get("device") or arguments.keywords.get("other")
    if given is not None:
        known = isinstance(given[1], (Dev, Tensor)) and given[1].creations
        return TOP if known else as_device(frame, *given)
    if arguments.starred or arguments.double_starred:
        return TOP
    targets = [move_target(frame, *each) for each in arguments.positional[:2] if each[1] != NONE]
    found = [target for target in targets[:1] if target is not None]
    return found[0] if found else None


def is_moved_away(frame: Frame, callee: ast.Attribute, arguments: Arguments) -> bool:
    """Whether it is ``x.to(device)`` with a device of which nothing is known: what it gives may be anywhere."""
    return callee.attr == "to" and to_device(frame, arguments) == TOP


def _is_there_already(receiver: Tensor, arguments: Arguments) -> bool:
    """``x.to(y)``, ``x.type_as(y)`` and ``x.to(y.device)`` where both were made on the default device: no move."""
    named = arguments.keywords.get("device") or arguments.keywords.get("other")
    given = named or next(iter(arguments.positional), None)
    place = given[1] if given is not None else None
    if receiver.device != DEFAULT or not receiver.creations or not isinstance(place, (Dev, Tensor)):
        return False
    return place.device == DEFAULT and bool(place.creations)


def method_device(frame: Frame, name: str, arguments: Arguments) -> Device:
    """Where ``.cuda()``, ``.cuda(1)``, ``.cpu()`` and their kin move to."""
    kind = torch_api.DEVICE_METHODS[name]
    given = arguments.get(0, "device")
    if given is None or kind == "cpu":
        return CPU if kind == "cpu" else Device(Origin.LITERAL, kind)
    value = given[1]
    if isinstance(value, Const) and isinstance(value.value, int) and not isinstance(value.value, bool):
        return Device(Origin.LITERAL, kind, value.value)
    if isinstance(value, Const) and value.value is None:
        return Device(Origin.LITERAL, kind)
    return as_device(frame, *given)


def number_of_device(state: State, node: ast.Call, tensor: Tensor) -> Dev:
    """What ``x.get_device()`` gives, under a question for CUDA or a move to it not the -1 of the CPU."""
    literal = tensor.device.origin is Origin.LITERAL and not on_cpu(tensor.device)
    return Dev(tensor.device, tensor.creations, True, None if literal or state.guarded else node)


def type_device(value: Value) -> Device | None:
    """Where ``.type(..)`` moves to: legacy tensor types name a device, dtypes do not."""
    if isinstance(value, Dtype):
        return None
    name = value.name if isinstance(value, Ref) else value.value if isinstance(value, Const) else ""
    if isinstance(name, str) and name.rpartition(".")[2] in torch_api.LEGACY_CONSTRUCTORS:
        return Device(Origin.LITERAL, "cuda") if ".cuda." in name else CPU
    return TOP


def as_moved(module: Obj | Library, device: Device, placed: Step) -> Obj | Library:
    """A module after its move, and with it what it holds or wraps."""
    if isinstance(module, Obj):
        return replace(module, device=device, placed=placed)
    inner = None if module.inner is None else _part_moved(module.inner, device, placed)
    children = tuple(_part_moved(each, device, placed) for each in module.children)
    return replace(module, device=device, placed=placed, inner=inner, children=children)


def _part_moved(part: Value, device: Device, placed: Step) -> Value:
    if isinstance(part, Choice):
        return distribute(part, lambda each: _part_moved(each, device, placed))
    if isinstance(part, Obj) and part.info.is_module:
        return as_moved(part, device, placed)
    if isinstance(part, Library) and part.module and part.device is not None:
        return as_moved(part, device, placed)
    return part


def bind_moved(state: State, path: str, moved: Library) -> None:
    """Let a name hold a model of unknown class after its move; what wraps the model on some paths still wraps it."""
    held = state.env.get(path) or state.paths.get(path)
    both = isinstance(held, Choice) and any(getattr(each, "prefix", "") for _, each in held.alternatives)
    found = distribute(held, lambda each: moved if type(each) is Unknown else each) if both else moved  # type: ignore[arg-type]
    state.bind(path, found)
