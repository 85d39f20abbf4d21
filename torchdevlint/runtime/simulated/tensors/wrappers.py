"""Subclasses of tensors that have no bytes of their own and take operations apart (`__torch_dispatch__`).

The real device of such a tensor would be the one that its class names, which C++ does not have here. So it is the CPU,
and there is a claim; the tensors inside have their own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from torchdevlint.runtime.record.sites import user_line
from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.state import simulation
from torchdevlint.runtime.simulated.tensors.claims import CPU, Claim, set_claim

_DEVICE = 6
"""Where `_make_wrapper_subclass` takes the device, after the class (torch/csrc/autograd/python_variable.cpp)."""
_PLAIN_DISPATCH = torch.Tensor.__torch_dispatch__
_make: Callable[..., torch.Tensor] = torch._C.TensorBase._make_wrapper_subclass


class _Moving(threading.local):
    to_the_cpu = False


_moving = _Moving()


def moving_to_the_cpu() -> bool:
    """Whether the `_to_copy` of the CPU that an operation of such a class asks for is a move of the program's."""
    return _moving.to_the_cpu


def takes_operations_apart(kind: type) -> bool:
    """Whether a class of tensors has a dispatch of its own."""
    return kind.__torch_dispatch__ is not _PLAIN_DISPATCH  # type: ignore[attr-defined]


def copied_by_its_class(tensor: torch.Tensor, device: torch.device, options: dict[str, Any]) -> torch.Tensor:
    """A copy on `device` (resolved): the class copies what is inside."""
    before, _moving.to_the_cpu = _moving.to_the_cpu, device == CPU
    try:
        made: torch.Tensor = torch.ops.aten._to_copy.default(tensor, device=device, **options)
        return made
    finally:
        _moving.to_the_cpu = before


def _wrapper(cls: type, *args: Any, **kwargs: Any) -> torch.Tensor:
    active = simulation()
    device = args[_DEVICE] if len(args) > _DEVICE else kwargs.get("device")
    if device is None or not active.is_simulated(torch.device(device)):
        return _make(cls, *args, **kwargs)
    if len(args) > _DEVICE:
        args = (*args[:_DEVICE], CPU, *args[_DEVICE + 1 :])
    else:
        kwargs["device"] = CPU
    made = _make(cls, *args, **kwargs)
    set_claim(made, Claim(active.resolve(torch.device(device)), cls.__name__, user_line()))
    return made


def patches() -> Iterator[Patch]:
    """What replaces `torch.Tensor._make_wrapper_subclass`."""
    yield torch.Tensor, "_make_wrapper_subclass", staticmethod(_wrapper)
