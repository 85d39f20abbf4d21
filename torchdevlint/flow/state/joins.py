"""What is known of a value after several paths: joins of values, choices between them, and tests of their kind."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from torchdevlint.flow.state.conditions import compatible, either, extended
from torchdevlint.flow.state.devices import LOADER, TOP, Device, Origin
from torchdevlint.flow.state.devices import join as join_devices
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    MAX_ALTERNATIVES,
    MAX_CREATIONS,
    MAX_ITEMS,
    NONE,
    NUMBER,
    UNKNOWN,
    Choice,
    Conditions,
    Const,
    Guard,
    Library,
    Map,
    Number,
    Obj,
    Record,
    Seq,
    Site,
    Step,
    Tensor,
    Unknown,
    Value,
)

_HOPELESS = 4 * MAX_ALTERNATIVES
"""So many alternatives do not become few by those that follow."""


def sequence(items: list[Value]) -> Seq:
    """A sequence of known items."""
    return Seq(tuple(items), any_of(items))


def concatenated(left: Seq, right: Seq) -> Seq:
    """The sum of two lists; loops and comprehensions are taken to give something."""
    if left.items is not None and right.items is not None:
        if not left.items or not right.items:
            return left if left.items else right
        items, element = left.items + right.items, blurred(join(left.element, right.element))
        return Seq(items if len(items) <= MAX_ITEMS else None, element)
    parts = [each.items if each.items is not None else each.members or (each.element,) for each in (left, right)]
    members = tuple(dict.fromkeys((*parts[0], *parts[1])))[:MAX_ALTERNATIVES]
    return Seq(None, join(left.element, right.element), members)


def any_of(values: Sequence[Value]) -> Value:
    """What any one of several values is, as `blurred` says of their join."""
    kept: list[Value] = []
    for value in values:
        if isinstance(value, Choice):
            return blurred(join_all(list(values)))
        if value == NONE:
            continue
        for place, other in enumerate(kept):
            both = merge(other, value)
            if both is not None:
                kept[place] = both
                break
        else:
            kept.append(value)
        if len(kept) > 1 and not (isinstance(kept[0], _MAY_MERGE) and isinstance(kept[1], _MAY_MERGE)):
            return UNKNOWN
    if not kept:
        return NONE if values else UNKNOWN
    return kept[0] if len(kept) == 1 else blurred(join_all(kept))


_MAY_MERGE = (Unknown, Tensor)
"""Two such, if they differ, may still be one with what follows."""


def blurred(value: Value) -> Value:
    """What any one of several values is: unknown where they differ, since no branch says which one it is."""
    if not isinstance(value, Choice):
        return value
    held = [each for _, each in value.alternatives if each != NONE]
    if len(held) == 1:
        return held[0]
    if all(isinstance(each, Tensor) for each in held):
        return Tensor(TOP)
    return UNKNOWN


def alternatives(value: Value, conditions: Conditions = ()) -> tuple[tuple[Conditions, Value], ...]:
    """The alternatives that are possible under `conditions`; one for a value that is no choice."""
    if not isinstance(value, Choice):
        return (((), value),)
    if not conditions:
        return value.alternatives
    return tuple(each for each in value.alternatives if compatible(each[0], conditions))


def settle(value: Value, conditions: Conditions) -> Value:
    """`value` without the alternatives that `conditions` rule out."""
    if not conditions or not isinstance(value, Choice):
        return value
    left = alternatives(value, conditions)
    if len(left) == len(value.alternatives) or not left:
        return value
    return left[0][1] if len(left) == 1 else Choice(left)


def only(value: Value, kind: type) -> Any:
    """`value` if it is of that kind, or the one alternative that is; else None."""
    if isinstance(value, kind):
        return value
    found = [each for _, each in alternatives(value) if isinstance(each, kind)]
    return found[0] if len(found) == 1 and isinstance(value, Choice) else None


def join_all(values: list[Value]) -> Value:
    """The join of any number of values, UNKNOWN for none."""
    result: Value | None = None
    for value in values:
        result = value if result is None else join(result, value)
    return UNKNOWN if result is None else result


def join(one: Value, other: Value, one_if: Conditions = (), other_if: Conditions = ()) -> Value:
    """What a name holds after two paths, each under its branch conditions."""
    if one is other or one == other:
        return one
    return choose(
        [(extended(at, one_if), each) for at, each in alternatives(one, one_if)]
        + [(extended(at, other_if), each) for at, each in alternatives(other, other_if)]
    )


def choose(pairs: list[tuple[Conditions, Value]]) -> Value:
    """The value that is one of several, each under its conditions; each may be a choice itself."""
    merged: list[tuple[Conditions, Value]] = []
    for outer, value in pairs:
        for inner, each in alternatives(value, outer):
            _add(merged, extended(outer, inner), each)
            if len(merged) > _HOPELESS:
                return UNKNOWN
    return _choice(merged)


def _choice(merged: list[tuple[Conditions, Value]]) -> Value:
    if len(merged) > MAX_ALTERNATIVES or not merged:
        return UNKNOWN
    return merged[0][1] if len(merged) == 1 else Choice(tuple(merged))


def _add(merged: list[tuple[Conditions, Value]], at: Conditions, value: Value, before: int | None = None) -> None:
    """Adds one alternative; what it becomes one with may become one with others in turn."""
    for place, (other_at, other) in enumerate(merged):
        if type(value) is not type(other) and not (type(value) in _MIXABLE and type(other) in _MIXABLE):
            continue
        conditions = either(at, other_at)
        both = merge(other, value) if conditions is not None else None
        if both is not None and conditions is not None:
            del merged[place]
            _add(merged, conditions, both, place if before is None else min(place, before))
            return
    merged.insert(len(merged) if before is None else before, (at, value))


_MIXABLE = frozenset({Unknown, Tensor, Const, Number})
"""Values of different kinds that may be one, in `merge`."""


def merge(one: Value, other: Value) -> Value | None:
    """One value that stands for both, where that loses nothing that matters; else None."""
    if one is other or one == other:
        return one
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return _merge_tensors(one, other)
    if isinstance(one, Unknown):
        return _merge_unknown(one, other)
    if isinstance(other, Unknown):
        return _merge_unknown(other, one)
    if isinstance(one, (Const, Number)) and isinstance(other, (Const, Number)):
        return _either_number(one, other) if is_number(one) and is_number(other) else None
    if isinstance(one, Obj) and isinstance(other, Obj) and one.info is other.info:
        return Obj(one.info, join_devices(one.device, other.device))
    if isinstance(one, Seq) and isinstance(other, Seq):
        if one.items is not None and other.items is not None and len(one.items) == len(other.items):
            return sequence([join(a, b) for a, b in zip(one.items, other.items, strict=True)])
        parts = [part.element for part in (one, other) if part.items != ()]
        return Seq(None, join_all(parts), _grown(one, other) or _grown(other, one))
    if isinstance(one, Map) and isinstance(other, Map):
        return Map(tuple(dict(one.items + other.items).items()), join(one.element, other.element))
    if isinstance(one, Record) and isinstance(other, Record) and one.kind == other.kind:
        theirs = dict(other.items)
        if [name for name, _ in one.items] == list(theirs):
            items = (
                (name, value if value == theirs[name] else blurred(join(value, theirs[name])))
                for name, value in one.items
            )
            return Record(one.kind, tuple(items))
    return None


def _merge_unknown(one: Unknown, other: Value) -> Value | None:
    if not isinstance(other, Tensor):
        return None
    if other.device == LOADER:
        return one
    return other if one.given == other.device else None


def _either_number(one: Const | Number, other: Const | Number) -> Number:
    """A number that is one of two; the rank of a process is what it is besides a literal for when there is but one."""
    ranked = [each for each in (one, other) if isinstance(each, Number)]
    return ranked[0] if len(ranked) == 1 else NUMBER


def _grown(one: Seq, other: Seq) -> tuple[Value, ...]:
    """What `other` surely holds if it is `one` with more appended, as after a loop that ran."""
    if other.items is not None and one.items is not None and other.items[: len(one.items)] == one.items:
        return tuple(dict.fromkeys(other.items))
    if other.items is None and one.items is not None and set(one.items) <= set(other.members):
        return other.members
    return other.members if one.items is None and set(one.members) <= set(other.members) else ()


def _merge_tensors(one: Tensor, other: Tensor) -> Tensor | None:
    ndim = one.ndim if one.ndim == other.ndim else None
    if ndim is None and one.ndim and other.ndim:
        ndim = AT_LEAST_1
    if one.device == other.device:
        return Tensor(one.device, ndim, both_creations(one, other), one.steps or other.steps, one.moved and other.moved)
    if one.moved != other.moved and (same_root(one, other) or (_is_created(one) and _is_created(other))):
        return Tensor(TOP, ndim, (), one.steps, True)
    return None


def distribute(choice: Choice, transfer: Callable[[Value], Value]) -> Value:
    """Apply `transfer` to each alternative and join what comes out, each under its conditions."""
    return choose([(conditions, transfer(each)) for conditions, each in choice.alternatives])


def child_of(container: Library, child: Value) -> Value:
    """A member of a ModuleList or Sequential: a module where the container is, even if its class is not known."""
    return Library("", True, container.device) if isinstance(child, Unknown) else child


def unpacked(value: Value) -> Value:
    """A named tuple as the tuple that it is; anything else is given back."""
    if isinstance(value, Record) and value.kind.ordered:
        return sequence([each for name, each in value.items if name in value.kind.fields])
    return value


def element_of(value: Value) -> Value:
    """What iterating over `value` gives."""
    value = unpacked(value)
    if isinstance(value, Seq):
        return join_all(list(value.members)) if value.members and value.element == UNKNOWN else value.element
    if isinstance(value, Tensor) and value.opaque:
        return value
    if isinstance(value, Tensor):
        ndim = value.ndim - 1 if value.ndim is not None and value.ndim > 0 else None
        return replace(value, ndim=ndim)
    if isinstance(value, Library):
        return child_of(value, join_all(list(value.children))) if value.module else UNKNOWN
    if isinstance(value, Choice):
        return distribute(value, element_of)
    return value if isinstance(value, Unknown) else UNKNOWN


def tensors_in(value: Value) -> Iterator[Tensor]:
    """The tensors that a value is, may be, or holds as a container."""
    if isinstance(value, Tensor):
        yield value
        return
    parts: list[Value] = [each for _, each in value.alternatives] if isinstance(value, Choice) else []
    if isinstance(value, Seq):
        parts = [*(value.items or ()), *value.members, value.element]
    elif isinstance(value, Map):
        parts = [*(each for _, each in value.items), value.element]
    elif isinstance(value, Library) and not value.module:
        parts = list(value.children)
    elif isinstance(value, Record):
        parts = [each for _, each in value.items]
    for each in parts:
        yield from tensors_in(each)


def sites_in(value: Value) -> set[Site]:
    """Where the tensors that a value is or holds were made, those on the default device."""
    return {site for tensor in tensors_in(value) for site in tensor.creations}


def same_root(one: Tensor, other: Tensor) -> bool:
    """Whether both came from the same creation or parameter: one may be the other one, conditionally moved."""
    started = one.steps and other.steps and not one.steps[0].of_module and one.steps[0] == other.steps[0]
    return bool(started) or any(site in other.creations for site in one.creations)


def _is_created(tensor: Tensor) -> bool:
    return bool(tensor.steps) and tensor.steps[0].created


def both_creations(one: Tensor, other: Tensor) -> tuple[Site, ...]:
    """Where they were made, as far as `MAX_CREATIONS` goes."""
    return tuple(islice(dict.fromkeys((*one.creations, *other.creations)), MAX_CREATIONS))


def is_number(value: Value) -> bool:
    """Whether it is surely a Python number."""
    return isinstance(value, (Number, Guard)) or (
        isinstance(value, Const) and isinstance(value.value, (int, float, complex))
    )


def is_module(value: Value) -> bool:
    """Whether it is surely a `torch.nn.Module`."""
    if isinstance(value, Library):
        return value.module
    return isinstance(value, Obj) and value.info.is_module


def given_tensor(device: Device, node: ast.AST, ndim: int | None = None, name: str = "it") -> Tensor:
    """The tensor that something unknown turned out to be, which came from an input or argument on `device`."""
    how = {
        Origin.MODEL: "came with the inputs of forward",
        Origin.ARGUMENT: f"comes from the argument `{device.name}`",
    }.get(device.origin, f"is made of what is on {device.describe()}")
    return Tensor(device, ndim, (), (Step(f"{name} {how}", node),))


def at(tensor: Tensor, device: Device, step: Step | None = None) -> Tensor:
    """The tensor after an explicit move to `device`; a Parameter that is there already stays what it is."""
    steps = tensor.steps if step is None else (*tensor.steps[:1], *tensor.steps[1:][-2:], step)
    if tensor.parameter and tensor.device == device != TOP:
        return tensor
    unwrapped = step.node if tensor.parameter and step is not None else tensor.unwrapped
    return replace(tensor, device=device, steps=steps, moved=True, parameter=False, unwrapped=unwrapped)
