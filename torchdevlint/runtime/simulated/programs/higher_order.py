"""Operators that run functions of the program (`torch.cond`, `scan`, `while_loop`, `flex_attention`).

Each has a kernel that is written in Python, for tensors of every device, and another for autograd, which traces those
functions to get at their gradients. Here autograd follows the kernel itself: what a function uses beside its arguments
gets its gradient too (on real hardware dynamo makes it an argument), and nothing is traced that C++ would make on an
accelerator. Under a tracer, on the CPU, everything stays as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.programs.threads import follower
from torchdevlint.runtime.simulated.tensors.mode import PlacementMode

_PACKAGE = "torch._higher_order_ops"
_OPERATORS = {
    "associative_scan": "associative_scan_op",
    "cond": "cond_op",
    "flex_attention": "flex_attention",
    "map": "map_impl",
    "scan": "scan_op",
    "while_loop": "while_loop_op",
}
_ASKED = "_get_current_dispatch_mode"
_MODES = "python_key_table" if hasattr(torch._ops.OperatorBase(), "python_key_table") else "python_key_mode_table"
"""Older releases ask no mode whose class is not in this table of an operator."""
_AUTOGRAD = torch._C.DispatchKey.Autograd
_KERNEL = torch._C.DispatchKey.CompositeExplicitAutograd


def _ours(mode: Any) -> bool:
    return isinstance(mode, (PlacementMode, type(follower)))


def _traced() -> bool:
    """Whether there is another mode; those of tracers lie below ours, whenever they came."""
    return not all(map(_ours, _get_current_dispatch_mode_stack()))


def _followed(kernel: Callable[..., Any], tracing: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        return (tracing if _traced() else kernel)(*args, **kwargs)

    return run


def _but_ours(original: Callable[[], Any]) -> Callable[[], Any]:
    """Kernels that look whether a tracer is there take the mode of the simulation for one."""

    def current_dispatch_mode() -> Any:
        mode = original()
        return None if _ours(mode) else mode

    return current_dispatch_mode


def _by_its_mode(operator: Any) -> Callable[..., Any]:
    return lambda mode, *args, **kwargs: mode.__torch_dispatch__(operator, (), args, kwargs)


def patches() -> Iterator[Patch]:
    """What replaces kernels of these operators; `torch._dynamo` has imported their modules."""
    for name, operator in _OPERATORS.items():
        module = sys.modules.get(f"{_PACKAGE}.{name}")
        if hasattr(module, _ASKED):
            yield module, _ASKED, _but_ours(getattr(module, _ASKED))
        found = getattr(module, operator, None)
        kernels = getattr(found, "py_kernels", {})
        if _KERNEL in kernels and _AUTOGRAD in kernels:
            yield found, "py_kernels", {**kernels, _AUTOGRAD: _followed(kernels[_KERNEL], kernels[_AUTOGRAD])}
            yield found, "_dispatch_cache", {}
    if not hasattr(TorchDispatchMode, "supports_higher_order_operators"):
        for each in torch._ops._higher_order_ops.values():
            asked = dict.fromkeys((PlacementMode, type(follower)), _by_its_mode(each))
            yield each, _MODES, {**getattr(each, _MODES), **asked}
