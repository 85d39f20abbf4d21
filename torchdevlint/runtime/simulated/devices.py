"""`torch.device(1)` on a CPU build: a number means the simulated accelerator.

The constructor is C++ and knows no accelerator, and its type cannot be changed; so a class stands in its place, whose
call makes the real object. It is equal to the real type, and `isinstance` and `issubclass` take one for the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from torchdevlint.runtime.simulated import state
from torchdevlint.runtime.simulated.patches import Patch

real = torch.device


class _DeviceType(type):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        index = args[0] if len(args) == 1 and not kwargs else kwargs.get("device") if len(kwargs) == 1 else None
        active = state.active
        # torch/csrc/utils/python_arg_parser.h, `toDevice`: a number that is not negative is an accelerator's index
        if type(index) is int and index >= 0 and active is not None and active.driver.installed:
            return real(active.kind, index)
        return real(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, real)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is real

    def __hash__(cls) -> int:
        return hash(real)

    def __getattr__(cls, name: str) -> Any:
        return getattr(real, name)

    def __repr__(cls) -> str:
        return repr(real)


class device(metaclass=_DeviceType):  # noqa: N801
    __doc__ = real.__doc__


device.__module__, device.__qualname__ = "torch", "device"


def patches() -> Iterator[Patch]:
    yield torch, "device", device
