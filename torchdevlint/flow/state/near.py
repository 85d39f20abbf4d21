"""What is remembered of a place that a fix may write to, from when it was run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torchdevlint.flow.state.devices import Device
from torchdevlint.source.functions import AnyFunction

if TYPE_CHECKING:
    from torchdevlint.flow.state.classes import ClassInfo


class Near(Struct, frozen=True):
    """What the names around a place say about devices.

    `names` are expressions for devices (``x.device``, ``device``) with what they stand for, `inputs` how many tensors
    the `function` gets, and `owner` the class that it is a method of. `moved` is where the tensor was that is moved
    there. `parts` are names for what came with an input: if it is a tensor, it is on that device.
    """

    function: AnyFunction | None
    names: tuple[tuple[str, Device], ...]
    owner: ClassInfo | None
    inputs: int
    moved: Device | None = None
    parts: tuple[tuple[str, Device], ...] = ()
