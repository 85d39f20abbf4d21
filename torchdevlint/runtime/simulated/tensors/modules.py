"""Modules that are moved: how `Module.to` reads its arguments, and what it leaves behind."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from torchdevlint.runtime.modules import registered_tensors
from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.state import simulation
from torchdevlint.runtime.simulated.tensors.claims import device_of
from torchdevlint.runtime.simulated.tensors.movement import cpu, cuda, get_device, to


def _mover(original: Callable[..., torch.nn.Module]) -> Callable[..., torch.nn.Module]:
    """`Module.to` and `.cuda`, unchanged; the recorder then looks for what they have left behind."""

    @functools.wraps(original)
    def mover(self: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
        moved = original(self, *args, **kwargs)
        active = simulation()
        if active.recorder is not None:
            first = next(registered_tensors(self), None)
            if first is not None and device_of(first).type == active.kind:
                active.recorder.module_moved(self, str(device_of(first)))
        return moved

    return mover


def _parse_to(original: Callable[..., Any]) -> Callable[..., Any]:
    """`Module.to` reads its arguments with it. A number means an accelerator, of which it knows none, and a tensor
    means its device, of which it knows another.
    """

    def parse_to(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], torch.Tensor):
            args = (device_of(args[0]), args[0].dtype, *args[1:])
        if args and isinstance(args[0], int) and not isinstance(args[0], bool):
            args = (simulation().driver.parse(args[0]), *args[1:])
        if isinstance(kwargs.get("device"), int):
            kwargs["device"] = simulation().driver.parse(kwargs["device"])
        return original(*args, **kwargs)

    return parse_to


def patches() -> Iterator[Patch]:
    """What replaces the movers of `torch.nn.Module`, and what they use."""
    for name in ("to", "cuda", "xpu"):
        yield torch.nn.Module, name, _mover(getattr(torch.nn.Module, name))
    yield torch._C._nn, "_parse_to", _parse_to(torch._C._nn._parse_to)
    lazy = torch.nn.parameter.UninitializedTensorMixin  # parameters of lazy modules let only these functions through
    yield lazy, "_allowed_methods", [*lazy._allowed_methods, to, cuda, cpu, get_device]
