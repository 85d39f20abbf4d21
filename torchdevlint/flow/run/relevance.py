"""Which calls need not be followed, and which arguments differ in nothing that matters to where things are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from torchdevlint.flow.scope.names import positional_names
from torchdevlint.flow.state.entries import Entry
from torchdevlint.flow.state.joins import choose, sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.others import owner_of
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.touch import seen_by_caller
from torchdevlint.flow.state.values import (
    NUMBER,
    TEXT,
    Choice,
    Cls,
    Const,
    Dtype,
    Func,
    Map,
    Number,
    Partial,
    Record,
    RecordType,
    Ref,
    Seq,
    Text,
    Unknown,
    Value,
)
from torchdevlint.patterns import regex

_NAMES_DEVICE = regex(r"cuda|cpu|gpu|mps|xpu|npu|hpu|meta|device|auto", re.IGNORECASE)
_OF_NO_DEVICE = (Cls, Dtype, Func, RecordType, Ref)
"""Functions, classes and dtypes: what they make is made where they are called."""


def says_where(value: Value) -> bool:
    """Whether a value is or holds something that is in a place or names one: a tensor, module, device, rank."""
    if isinstance(value, Const):
        return isinstance(value.value, str) and _NAMES_DEVICE.search(value.value) is not None
    if isinstance(value, Unknown):
        return value.given is not None or bool(value.made_by)
    if isinstance(value, (Number, Text)):
        return value.rank is not None
    if isinstance(value, _OF_NO_DEVICE):
        return False
    if isinstance(value, Choice):
        return any(says_where(each) for _, each in value.alternatives)
    if isinstance(value, Seq):
        return any(map(says_where, (*(value.items or ()), *value.members, value.element)))
    if isinstance(value, Map):
        return says_where(value.element) or any(says_where(each) for _, each in value.items)
    if isinstance(value, Record):
        return any(says_where(each) for _, each in value.items)
    if isinstance(value, Partial):
        given = (*value.positional, *(each for _, each in value.keywords))
        return says_where(value.function) or any(says_where(each) for _, each in given)
    return True


def is_in_vain(frame: Frame, node: object, function: Func, arguments: Iterable[Value]) -> bool:
    """Whether running a function for these arguments, without its receiver, would say no more than is known already.

    So it is for an ``__init__`` of this file that was looked at on its own, unless ``super()`` calls it, and for a
    function of another file that has no word for devices and whose result is thrown away, if no argument says where
    anything is. In a file that sets the visible devices it matters of each call whether it touches CUDA.
    """
    machine = frame.machine
    if machine.sets_visible_devices:
        return False
    elsewhere = owner_of(function.closure)
    if elsewhere is not None:
        known = machine.discarded is node and not elsewhere.module.speaks_of_devices(function.node)
    else:
        looked_at = function.qualname.endswith("__init__") and function.node in machine.looked_at
        known = looked_at and (frame.receiver is None or function.receiver is not frame.receiver)
    return known and not any(map(says_where, arguments))


def is_entered(frame: Frame, state: State, node: object, function: Func, given: Sequence[object]) -> bool:
    """Whether the call is one of a program that begins, ``main()`` on the top level, and was entered instead.

    It is given nothing and gives nothing, so that to run it as a call and to enter it on its own are the same.
    """
    machine = frame.machine
    begins = frame.function is None and machine.discarded is node and not given and function.receiver is None
    if not begins or owner_of(function.closure) is not None or machine.muted:
        return False
    if not machine.may_run(function) or function.node in machine.looked_at or positional_names(function.node):
        return False
    if state.without_accelerator or state.default_device is not None:
        return False
    entry = Entry("function", function.qualname, function.owner)
    touched = machine.enter(machine, function, entry, state.touched_before)
    state.touched = state.touched_before or seen_by_caller(touched, state.conditions)
    machine.entered.add(function.node)
    return True


def widened(value: Value) -> Value:
    """A number of any size for a number, and a string for one that names no device, also in a list or a choice."""
    if isinstance(value, Const):
        if isinstance(value.value, str):
            return value if _NAMES_DEVICE.search(value.value) else TEXT
        return NUMBER if type(value.value) in (int, float) else value
    if isinstance(value, Choice):
        held = [(conditions, widened(each)) for conditions, each in value.alternatives]
        same = all(each is before for (_, each), (_, before) in zip(held, value.alternatives, strict=True))
        return value if same else choose(held)
    if isinstance(value, Seq) and value.items:
        items = tuple(map(widened, value.items))
        return value if all(a is b for a, b in zip(items, value.items, strict=True)) else sequence(list(items))
    return value
