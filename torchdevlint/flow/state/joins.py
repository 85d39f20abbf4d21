"""What is known of a value after several paths: joins of values, choices between them, and tests of their kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from msgspec.structs import replace

from torchdevlint.flow.state.conditions import compatible, either, extended
from torchdevlint.flow.state.devices import LOADER, TOP
from torchdevlint.flow.state.devices import join as join_devices
from torchdevlint.flow.state.tensors import are_parted_by_switch, as_kinds_ask, both_creations, child_of, may_be_meant
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    MAX_ALTERNATIVES,
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
    Ref,
    Seq,
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
        if type(value) is Choice:
            return blurred(join_all(list(values)))
        if type(value) is Const and value.value is None:
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
    return Tensor(TOP) if all(isinstance(each, Tensor) for each in held) else UNKNOWN


def alternatives(value: Value, conditions: Conditions = ()) -> tuple[tuple[Conditions, Value], ...]:
    """The alternatives that are possible under `conditions`; one for a value that is no choice."""
    if type(value) is not Choice:
        return (((), value),)
    if not conditions:
        return value.alternatives
    return tuple([each for each in value.alternatives if compatible(each[0], conditions)])


def settle(value: Value, conditions: Conditions) -> Value:
    """`value` without the alternatives that `conditions` rule out."""
    if not conditions or type(value) is not Choice:
        return value
    left = alternatives(value, conditions)
    if len(left) == len(value.alternatives) or not left:
        return value
    return left[0][1] if len(left) == 1 else Choice(left)


def join_all(values: list[Value]) -> Value:
    """The join of any number of values, UNKNOWN for none."""
    return reduce(join, values) if values else UNKNOWN


def join(one: Value, other: Value, one_if: Conditions = (), other_if: Conditions = ()) -> Value:
    """What a name holds after two paths, each under its branch conditions."""
    if one is other or one == other:
        return one
    if type(one) is not Choice and type(other) is not Choice:
        both = _both(one, one_if, other, other_if)
        return both[1] if both is not None else Choice(((one_if, one), (other_if, other)))
    return choose(
        [(extended(at, one_if), each) for at, each in alternatives(one, one_if)]
        + [(extended(at, other_if), each) for at, each in alternatives(other, other_if)]
    )


def choose(pairs: list[tuple[Conditions, Value]]) -> Value:
    """The value that is one of several, each under its conditions; each may be a choice itself."""
    merged: list[tuple[Conditions, Value]] = []
    for outer, value in pairs:
        for inner, each in alternatives(value, outer) if type(value) is Choice else (((), value),):
            _add(merged, extended(outer, inner) if outer and inner else outer or inner, each)
            if len(merged) > _HOPELESS:
                return UNKNOWN
    merged = merged if len(merged) <= MAX_ALTERNATIVES else fewer(merged)
    if len(merged) > MAX_ALTERNATIVES or not merged:
        return UNKNOWN
    return merged[0][1] if len(merged) == 1 else Choice(tuple(merged))


def fewer(merged: list[tuple[Conditions, Value]]) -> list[tuple[Conditions, Value]]:
    """The same alternatives of a tensor, a container or None: those in one place are one, under what holds for all."""
    of_tensor = all(type(value) is Tensor or value == NONE for _, value in merged)
    if not (of_tensor or all(type(value) in (Seq, Map) or value in (NONE, UNKNOWN) for _, value in merged)):
        return merged  # what wraps a model once or twice is told apart by its conditions alone
    kept: list[tuple[Conditions, Value]] = []
    for at, value in merged:
        for place, (other_at, other) in enumerate(kept):
            apart = are_parted_by_switch(other, other_at, value, at) if of_tensor else other != value
            if (both := None if apart else merge(other, value)) is not None:
                kept[place] = tuple(each for each in other_at if each in at), both
                break
        else:
            kept.append((at, value))
    return kept


def _add(merged: list[tuple[Conditions, Value]], at: Conditions, value: Value, before: int | None = None) -> None:
    """Adds one alternative; what it becomes one with may become one with others in turn."""
    kind = type(value)
    for place, (other_at, other) in enumerate(merged):
        if type(other) is not kind and _MIXABLE.get(kind) is not type(other):
            continue
        both = _both(other, other_at, value, at)
        if both is not None:
            del merged[place]
            _add(merged, *both, place if before is None else min(place, before))
            return
    merged.insert(len(merged) if before is None else before, (at, value))


def _both(one: Value, one_if: Conditions, other: Value, other_if: Conditions) -> tuple[Conditions, Value] | None:
    """Two alternatives as one, under what holds where either does, as items keep it; None where they stay two."""
    kind = type(one)
    if one is other:
        conditions = either(other_if, one_if)
        return None if conditions is None else (conditions, one)
    if kind is not type(other):
        if _MIXABLE.get(kind) is not type(other):
            return None
    elif (kind not in _OF_KIND or (kind is Const and not is_number(one))) and one != other:
        return None
    conditions = either(other_if, one_if)
    if conditions is None or (kind is Tensor and are_parted_by_switch(one, one_if, other, other_if)):
        return None
    value = _merge_sequences(one, other, one_if, other_if) if type(one) is Seq else merge(one, other)
    value = as_kinds_ask(one, one_if, other, other_if) if value is None and kind is Tensor else value
    return None if value is None else (conditions, value)


_MIXABLE: dict[type, type] = {Unknown: Tensor, Tensor: Unknown, Const: Number, Number: Const}
"""Which other kind of value may become one with a kind, in `merge`."""


def merge(one: Value, other: Value) -> Value | None:
    """One value that stands for both, where that loses nothing that matters; else None."""
    if one is other or one == other:
        return one
    if type(one) is type(other):
        of_kind = _OF_KIND.get(type(one))
        return None if of_kind is None else of_kind(one, other)
    if type(one) is Unknown:
        return _merge_unknown(one, other)
    if type(other) is Unknown:
        return _merge_unknown(other, one)
    return _merge_numbers(one, other)


def _merge_unknown(one: Unknown, other: Value) -> Value | None:
    if type(other) is Tensor and other.device == LOADER:
        return one
    return other if type(other) is Tensor and one.given == other.device else None


def _merge_numbers(one: Value, other: Value) -> Number | None:
    """A number that is one of two; the rank of a process is what it is besides a literal for when there is but one."""
    if not (is_number(one) and is_number(other)):
        return None
    ranked = [each for each in (one, other) if type(each) is Number]
    return ranked[0] if len(ranked) == 1 else NUMBER


def _merge_objects(one: Obj, other: Obj) -> Obj | None:
    if one.info is not other.info or (one.device != other.device and TOP not in (one.device, other.device)):
        return None
    return Obj(one.info, join_devices(one.device, other.device), given=one.given if one.given == other.given else ())


def _merge_sequences(one: Seq, other: Any, one_if: Conditions = (), other_if: Conditions = ()) -> Seq | None:
    """One for both; None for two of different lengths, neither of which has grown out of the other."""
    if one.items is not None and other.items is not None:
        if len(one.items) == len(other.items):
            return sequence([join(a, b, one_if, other_if) for a, b in zip(one.items, other.items, strict=True)])
        if any(a != b for a, b in zip(one.items, other.items, strict=False)):
            return None
    parts = [part.element for part in (one, other) if part.items != ()]
    element = join(parts[0], parts[1], one_if, other_if) if len(parts) > 1 else join_all(parts)
    return Seq(None, element, _grown(one, other) or _grown(other, one))


def _merge_maps(one: Map, other: Map) -> Map:
    """The entries of both, each as any one of what they hold under its key."""
    items = dict(one.items)
    items |= {key: _one_of(items[key], value) if key in items else value for key, value in other.items}
    return Map(tuple(items.items()), join(one.element, other.element))


def _merge_records(one: Record, other: Record) -> Record | None:
    theirs = dict(other.items)
    if one.kind != other.kind or [name for name, _ in one.items] != list(theirs):
        return None
    return Record(one.kind, tuple((name, _one_of(value, theirs[name])) for name, value in one.items))


def _one_of(one: Value, other: Value) -> Value:
    return one if one == other else blurred(join(one, other))


def _grown(one: Seq, other: Seq) -> tuple[Value, ...]:
    """What `other` surely holds if it is `one` with more appended, as after a loop that ran."""
    if other.items is not None and one.items is not None and other.items[: len(one.items)] == one.items:
        return tuple(dict.fromkeys(other.items))
    if other.items is None and one.items is not None and set(one.items) <= set(other.members):
        return other.members
    return other.members if one.items is None and set(one.members) <= set(other.members) else ()


def _merge_tensors(one: Tensor, other: Tensor) -> Tensor | None:
    """One tensor for both, but where one that is made here has dimensions, and of another one that is not known."""
    if None in (one.ndim, other.ndim) and (one.ndim or other.ndim) and one.creations and other.creations:
        return None
    ndim = one.ndim if one.ndim == other.ndim else None
    if ndim is None and one.ndim and other.ndim:
        ndim = AT_LEAST_1
    if one.device == other.device and one.parameter == other.parameter:  # a Module moves only the one
        both = both_creations(one, other)
        moved, opaque = one.moved and other.moved, one.opaque or other.opaque
        return Tensor(one.device, ndim, both, one.steps or other.steps, moved, one.parameter, opaque=opaque)
    if one.moved != other.moved and may_be_meant(one, other):
        return Tensor(TOP, ndim, (), one.steps, True)
    return None


_OF_KIND: dict[type, Callable[[Any, Any], Value | None]] = {
    Tensor: _merge_tensors,
    Const: _merge_numbers,
    Number: _merge_numbers,
    Obj: _merge_objects,
    Seq: _merge_sequences,
    Map: _merge_maps,
    Record: _merge_records,
}


def distribute(choice: Choice, transfer: Callable[[Value], Value]) -> Value:
    """Apply `transfer` to each alternative and join what comes out, each under its conditions."""
    return choose([(conditions, transfer(each)) for conditions, each in choice.alternatives])


AXES = Ref("matplotlib.axes.Axes")
"""Axes of a figure, or a grid of them: what its parts are is the same again, and axes alone have no parts."""


def unpacked(value: Value) -> Value:
    """A named tuple as the tuple that it is, and a grid of axes as what holds axes; anything else is given back."""
    if value == AXES:
        return Seq(None, AXES)
    if type(value) is Record and value.kind.ordered:
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


def is_number(value: Value) -> bool:
    """Whether it is surely a Python number."""
    if type(value) is Const:
        return isinstance(value.value, (int, float, complex))
    return type(value) is Number or type(value) is Guard


def is_module(value: Value) -> bool:
    """Whether it is surely a `torch.nn.Module`."""
    if type(value) is Library:
        return value.module
    return type(value) is Obj and value.info.is_module
