"""What an attribute holds that several places write, or several calls of one ``__init__``: of all instances at once."""

from __future__ import annotations

import re

from msgspec.structs import replace

from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.conditions import compatible
from torchdevlint.flow.state.devices import DEFAULT, MODEL, TOP, Device, Origin, stays_behind
from torchdevlint.flow.state.joins import alternatives, blurred, distribute, join
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    NONE,
    Choice,
    Conditions,
    Const,
    Library,
    Map,
    Obj,
    Seq,
    Site,
    Step,
    Tensor,
    Unknown,
    Value,
)


def write(
    attributes: dict[str, Value],
    name: str,
    value: Value,
    first: Conditions,
    conditions: Conditions,
    of_module: bool = False,
) -> None:
    """Joins what is known with a further value; `first` are the conditions of what was written first.

    The layers of a Module are what they are under any of its options; so is what it makes of its inputs.
    """
    known = attributes.get(name)
    if known is None or (type(value) in _ONE and known == value) or (_is_unsaid(known) and _is_kept(value)):
        attributes[name] = value
    elif _are_arms(known, first, conditions) and _are_told_apart(
        both := join(known, value, first, conditions), of_module
    ):
        attributes[name] = both
    elif not (_is_kept(known) and _stays(value)) and not is_made_alike(known, value):
        attributes[name] = value if _is_kept(value) and _stays(known) else _any_of(join(known, value))


_ONE = frozenset({Const, Library, Obj, Tensor, Unknown})
"""Kinds of values that are not several: written once more, such a one tells nothing new."""


def _are_arms(known: Value, first: Conditions, conditions: Conditions) -> bool:
    """Whether each of what is known was written in another arm of a test, so that an instance holds one of them."""
    held = known.alternatives if isinstance(known, Choice) else ((first, known),)
    return not any(compatible(each, conditions) for each, _ in held)


def _are_told_apart(value: Value, of_module: bool) -> bool:
    """Whether the arms matter to what is kept: one holds a fresh tensor, or each a model or metric of a library."""
    held = [each for _, each in alternatives(value)]
    is_library = not of_module and all(isinstance(each, Library) and each.module for each in held)
    return is_library or _is_fresh_in_one(value)


def _is_fresh_in_one(value: Value) -> bool:
    """Whether one of several alternatives is what a factory makes, or what was given, and none was put elsewhere.

    Where one arm chooses a device, the other one is for a machine or a caller without one.
    """
    held = [(where, each) for where, each in alternatives(value) if isinstance(each, Tensor)]
    fresh = [each for where, each in held if _is_fresh(each) or (_is_kept(each) and not _is_asked(each, where))]
    return bool(fresh) and all(each in fresh or each.device in (MODEL, TOP) or _is_kept(each) for _, each in held)


def _is_fresh(value: Tensor) -> bool:
    return value.device == DEFAULT and bool(value.creations)


def _is_asked(kept: Tensor, conditions: Conditions) -> bool:
    """Whether the test around it asks for the argument that is kept: who gives it has put it where it is needed."""
    name = kept.device.name
    return bool(name) and any(re.search(rf"\b{re.escape(name)}\b", key) for key, _ in conditions)


def _is_kept(value: Value) -> bool:
    """Whether it is an argument that a Module keeps as it came, or None."""
    return any(type(each) is Tensor and each.device.origin is Origin.KEPT for _, each in alternatives(value))


def tell_sizes(info: ClassInfo, name: str, value: Value) -> None:
    """A caller of this file shows that a kept argument has dimensions, be it for a class that is made of this one."""
    for each in info.mro if _is_sized(value) else ():
        known = each.attributes.get(name)
        if known is not None and _is_kept(known):
            each.attributes[name] = _sized(known)


def as_given(info: ClassInfo, name: str, value: Value) -> Value:
    """What a Module keeps of an argument, if other Modules of the file make it, be it for a class made of this one."""
    if not info.is_module or not _is_made_by_modules(value):
        return value
    for each in info.mro:
        known, target = each.attributes.get(name), each.assigned_at.get(name)
        kept = None if known is None else next((one for _, one in alternatives(known) if _is_kept(one)), None)
        if kept is not None:
            return _sized(kept)
        if known is not None and target is not None and _is_unsaid(known):
            site = Site(target, "", "init", f"{each.name}.__init__", False, None)
            steps = (*value.steps[:1], Step(f"kept as `self.{name}`", target))  # type: ignore[attr-defined]
            return Tensor(Device(Origin.KEPT, known.given.name), AT_LEAST_1, (site,), steps)  # type: ignore[attr-defined]
    return value


def _is_unsaid(value: Value) -> bool:
    """Whether it is an argument of which nothing says what it is, but those who make instances."""
    return isinstance(value, Unknown) and value.given is not None and value.given.origin is Origin.ARGUMENT


def _is_made_by_modules(value: Value) -> bool:
    """Whether a Module of the file makes a tensor with dimensions, and has another one keep it: none moves it."""
    if not isinstance(value, Tensor) or value.device != DEFAULT or value.parameter or not value.ndim:
        return False
    return bool(value.creations) and all(site.where == "init" for site in value.creations)


def _is_sized(value: Value) -> bool:
    """Whether a caller of this file gives a tensor with dimensions, wherever that is."""
    held = [each for _, each in alternatives(value) if each != NONE]
    return bool(held) and all(isinstance(each, Tensor) and stays_behind(each.device) and each.ndim for each in held)


def _sized(value: Value) -> Value:
    if isinstance(value, Choice):
        return distribute(value, _sized)
    kept = isinstance(value, Tensor) and value.device.origin is Origin.KEPT and value.ndim is None
    return replace(value, ndim=AT_LEAST_1) if kept else value


def _stays(value: Value) -> bool:
    """Whether moving the Module leaves it behind whatever it is, as what a caller in this file makes on the CPU."""
    held = [each for _, each in alternatives(value) if each != NONE]
    return all(isinstance(each, Tensor) and stays_behind(each.device) for each in held)


def is_made_alike(one: Value, other: Value) -> bool:
    """Whether both are what the same factories made in the same place, or None, as in two runs of one ``__init__``."""
    return (made := _made(one)) is not None and made == _made(other)


def _made(value: Value) -> frozenset[object] | None:
    """Where each alternative was made, and is; None where one is neither a new tensor nor None."""
    held = [each for _, each in alternatives(value)]
    if not all(each == NONE or (isinstance(each, Tensor) and each.creations) for each in held):
        return None
    return frozenset((each.device, each.creations) if isinstance(each, Tensor) else None for each in held)


def _any_of(value: Value) -> Value:
    """What an attribute holds, or each item of it, that several places write: nobody knows which of them came last."""
    if isinstance(value, Seq) and value.items is None:
        return replace(value, element=_any_of(value.element))
    rest = [each for _, each in alternatives(value) if each != NONE]
    held = (Tensor, Seq, Map) if any(isinstance(each, Unknown) and each.given for each in rest) else Tensor
    is_placed = any(isinstance(each, held) and next(tensors_in(each), None) is not None for each in rest)
    return blurred(value) if is_placed and len(rest) > 1 else value
