"""What a store into an attribute does: of an object of the project, and of a tensor's ``.data``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from msgspec.structs import replace

from torchdevlint.flow.kinds import loaders
from torchdevlint.flow.run.built_attributes import is_written_by_init, keep_wrapped, where_built
from torchdevlint.flow.run.built_of_own import refills
from torchdevlint.flow.run.objects import keep, registered, write_attribute
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.overwritten_items import stores_replaced
from torchdevlint.flow.state.devices import DEFAULT, TOP, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library, Obj, Tensor, Value
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import assignments_in, once_a_node


def held_by(frame: Frame, target: ast.Attribute, receiver: Obj, value: Value, state: State) -> Value:
    """What an object holds in an attribute after `value` was written to it."""
    receiver.info.assigned_at.setdefault(target.attr, target)
    if frame.entry.kind == "init" and refills(value, state.paths.get(dotted_path(target) or "")):
        value = registered(value)  # type: ignore[arg-type]
    kept = keep(frame, receiver, target, value)
    passing = target in _passing(frame) or is_written_by_init(frame, receiver.info, target.attr)
    passing = passing or _updates(frame, receiver, target)
    held = write_attribute(receiver, target.attr, kept, state.conditions, passing=passing)
    if not passing:
        keep_wrapped(receiver.info, target, held)
    return where_built(frame, receiver, target.attr, value, held) if receiver.info.is_module else held


def assign_data(frame: Frame, target: ast.Attribute, receiver: Tensor, value: Value, state: State) -> None:
    """``x.data = value``: the tensor is where that is, also one that an object keeps, ``self.grid.data = ..``."""
    path = dotted_path(target.value)
    held_here = isinstance(target.value, ast.Name) or path in state.paths
    plain = held_here and not receiver.parameter
    kept = _kept_by(frame, target.value, receiver, value, state)
    if path is not None and plain and isinstance(value, Tensor):
        state.bind(path, value)
    elif path is not None and path.rpartition(".")[0] == "self" and _is_fresh(value):
        state.bind(path, replace(value, parameter=receiver.parameter))
    elif path is not None and kept is not None:
        state.bind(path, kept)
    else:
        loaders.forget_if_written(target.value, value, state)
    _bring_elsewhere(frame, target.value, value, state)


def _kept_by(frame: Frame, place: ast.expr, before: Tensor, value: Value, state: State) -> Value | None:
    """What an object keeps in an attribute whose tensor of the CPU was put elsewhere in place; None for all others."""
    if not isinstance(place, ast.Attribute) or not isinstance(value, Tensor):
        return None
    if before.parameter or not on_cpu(before.device) or on_cpu(value.device):
        return None
    holder = frame.evaluate(place.value, state)
    return held_by(frame, place, holder, value, state) if isinstance(holder, Obj) else None


def _bring_elsewhere(frame: Frame, parameter: ast.expr, value: Value, state: State) -> None:
    """``cell.weight.data = gru.weight.data``: the parameters of a layer of a local name are where others are, then."""
    holder = parameter.value if isinstance(parameter, ast.Attribute) else None
    stays = isinstance(value, Tensor) and on_cpu(value.device)
    layer = state.env.get(holder.id) if isinstance(holder, ast.Name) and not stays else None
    if isinstance(holder, ast.Name) and isinstance(layer, Library) and layer.module and layer.device is not None:
        state.env[holder.id] = replace(layer, device=TOP)


def _is_fresh(value: Value) -> TypeGuard[Tensor]:
    """Whether it is a tensor that a factory has made on the default device."""
    return isinstance(value, Tensor) and value.device == DEFAULT and bool(value.creations)


def _updates(frame: Frame, receiver: Obj, target: ast.Attribute) -> bool:
    """Whether a Module calculates a tensor anew of what it kept there: what that meets is in the same place, or raises.

    A single number of the CPU goes with any device, and the result is there.
    """
    held = receiver.info.attributes.get(target.attr)
    if not receiver.info.is_module or not isinstance(held, Tensor) or not held.ndim or frame.function is None:
        return False
    return target in _updated_in(frame.function)


@once_a_node
def _updated_in(function: AnyFunction) -> frozenset[ast.expr]:
    """The targets of ``self.mean = 0.9 * self.mean + 0.1 * x``."""
    found = ((each.targets[0], each.value) for each in assignments_in(function) if isinstance(each.value, ast.BinOp))
    return frozenset(target for target, value in found if dotted_path(target) in set(_summands(value)))


def _summands(node: ast.expr) -> Iterator[str | None]:
    if isinstance(node, ast.BinOp):
        yield from _summands(node.left)
        yield from _summands(node.right)
    else:
        yield dotted_path(node)


def _passing(frame: Frame) -> frozenset[ast.Attribute]:
    return stores_replaced(frame.function) if frame.function is not None else frozenset()
