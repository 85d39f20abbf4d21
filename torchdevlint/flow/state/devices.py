"""The lattice of symbolic devices.

A device is what the source says of it, not a number: the default device, a literal, an expression such as ``device``,
the place where a model lives, or the place of a function's argument. The world that is assumed is the one the user
cares about: *an accelerator is there*, the model is on it, and what is named as a device means it.

Laws (tests hold them): `relation` is symmetric, `TOP` relates UNKNOWN to everything, every other device agrees with
itself; `join` is commutative, associative and idempotent, and `TOP` absorbs.
"""

from __future__ import annotations

import re
from enum import Enum

from msgspec import Struct

from torchdevlint.flow.facts import common
from torchdevlint.flow.knowledge.torch_api import DEVICE_METHODS, DEVICE_TYPES
from torchdevlint.patterns import regex

CPU_TYPES = frozenset({"cpu"})
VALUELESS_TYPES = frozenset({"meta"})
_TYPES = DEVICE_TYPES | frozenset(DEVICE_METHODS.values())
_NAME = regex(r"([A-Za-z_]\w*)(?::([0-9]{1,4}))?", re.ASCII)


class Relation(Enum):
    """What is known of two devices."""

    AGREE = "agree"
    DIFFER = "differ"
    UNKNOWN = "unknown"


class Origin(str, Enum):
    """Where the knowledge of a device comes from."""

    TOP = "top"
    """Nothing is known."""
    DEFAULT = "default"
    """The default device: the CPU, unless something outside this file says otherwise."""
    LITERAL = "literal"
    """A device type that the source names, with or without an ordinal."""
    EXPRESSION = "expression"
    """An expression that names a device: ``device``, ``self.device``, ``args.device``."""
    MODEL = "model"
    """Where the parameters and buffers of a module live; the inputs of its forward are taken to be there too."""
    LOADER = "loader"
    """Where a loader collates its batches: the CPU."""
    ARGUMENT = "argument"
    """Where an argument of the function that was entered lives."""
    KEPT = "kept"
    """Where an argument of ``__init__`` lives that a Module keeps unregistered: `Module.to` does not reach it."""


class Device(Struct, frozen=True):
    """One element of the lattice; `name` is the type of a literal, the text of an expression, or the owner's name."""

    origin: Origin
    name: str = ""
    index: int | None = None

    def describe(self) -> str:
        """The device in words, for messages."""
        if self.origin is Origin.DEFAULT:
            return "the CPU (default device)"
        if self.origin is Origin.LITERAL:
            return self.name if self.index is None else f"{self.name}:{self.index}"
        if self.origin is Origin.EXPRESSION:
            return f"`{self.name}`"
        if self.origin is Origin.MODEL:
            return "the model's device"
        if self.origin is Origin.LOADER:
            return "the CPU (as the loader gave it)"
        if self.origin is Origin.ARGUMENT:
            return f"the device of `{self.name}`"
        if self == BUILT:
            return common.BUILT
        if self == UNREGISTERED:
            return common.UNREGISTERED
        if self.origin is Origin.KEPT:
            return f"the device that `{self.name}` had when it was given"
        return "an unknown device"


TOP = Device(Origin.TOP)
HOST = Device(Origin.TOP, "host")
"""On the CPU as it was read or converted, by who knows what is done with it next: it differs from nothing."""
DEFAULT = Device(Origin.DEFAULT)
CPU = Device(Origin.LITERAL, "cpu")
MODEL = Device(Origin.MODEL)
LOADER = Device(Origin.LOADER)
BUILT = Device(Origin.KEPT, "self")
"""Where a Module was when it was built, for what ``__init__`` made of its buffers and parameters and keeps."""
UNREGISTERED = Device(Origin.KEPT)
"""Where a tensor was when ``__init__`` of a Module kept it without registering it."""


def literal(text: str) -> Device:
    """The device that a string such as ``"cuda:1"`` names, or TOP if it does not name one.

    A word that is no type of device may be a unit, a format or another library's device, and says nothing of places.
    """
    match = _NAME.fullmatch(text)
    if match is None or match.group(1) not in _TYPES:
        return TOP
    kind, number = match.groups()
    return Device(Origin.LITERAL, kind, int(number) if number else None)


def on_cpu(device: Device) -> bool:
    """Whether a tensor there stayed on the CPU when everything else was moved."""
    return device.origin in (Origin.DEFAULT, Origin.LOADER) or (
        device.origin is Origin.LITERAL and device.name in CPU_TYPES
    )


def stays_behind(device: Device) -> bool:
    """Whether moving the model does not take a tensor along that is there."""
    return device.origin is Origin.KEPT or on_cpu(device)


def relation(one: Device, other: Device) -> Relation:
    """Whether two devices surely agree, surely differ, or neither is known.

    The default CPU differs from everything that stands for an accelerator. A device that is literally the CPU differs
    only from literal accelerators and from a model's: an expression or an argument may be the CPU too. What a Module
    keeps differs from where the Module is and from where its methods' arguments are. A loader and an argument come
    from the same caller, who knows where they are.
    """
    if one.origin is Origin.TOP or other.origin is Origin.TOP:
        return Relation.UNKNOWN
    if one == other:
        return Relation.AGREE
    if Origin.KEPT in (one.origin, other.origin):
        moves = {one.origin, other.origin} & {Origin.MODEL, Origin.ARGUMENT}
        return Relation.DIFFER if moves else Relation.UNKNOWN
    for this, that in ((one, other), (other, one)):
        if on_cpu(this):
            if on_cpu(that):
                return Relation.AGREE
            return _from_cpu(this, that)
    if one.origin is Origin.LITERAL and other.origin is Origin.LITERAL:
        return _literals(one, other)
    return Relation.UNKNOWN


def join(one: Device, other: Device) -> Device:
    """What is known after either of two paths: the device if both have it, else nothing."""
    return one if one == other else TOP


def _from_cpu(cpu: Device, other: Device) -> Relation:
    if other.origin is Origin.LITERAL and other.name in VALUELESS_TYPES:
        return Relation.UNKNOWN
    if cpu.origin is Origin.LITERAL and other.origin in (Origin.EXPRESSION, Origin.ARGUMENT):
        return Relation.UNKNOWN
    if cpu.origin is Origin.LOADER and other.origin is Origin.ARGUMENT:
        return Relation.UNKNOWN
    return Relation.DIFFER


def _literals(one: Device, other: Device) -> Relation:
    if one.name in VALUELESS_TYPES or other.name in VALUELESS_TYPES:
        return Relation.UNKNOWN
    if one.name != other.name:
        return Relation.UNKNOWN  # no machine has accelerators of two kinds: either line is for another one
    if one.index is None or other.index is None:
        return Relation.UNKNOWN
    return Relation.DIFFER if one.index != other.index else Relation.AGREE
