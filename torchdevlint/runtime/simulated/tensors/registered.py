"""Operators that a program has registered (`torch.library`): their bodies are programs, and run in the simulation.

The dispatcher takes the body that is registered for where the operands are, and refuses a call for which there is none.
Where there is one for the accelerator and one for the CPU, that of the CPU stands for both: the other is likely to
launch a kernel.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._library.custom_ops import OPDEFS

from torchdevlint.runtime.simulated.operators.libraries import LIBRARIES
from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.state import Simulation
from torchdevlint.runtime.simulated.story import body_of, refuse_unregistered
from torchdevlint.runtime.simulated.tensors.claims import claim_of, tensors_in

Handler = Callable[[tuple[Any, ...], dict[str, Any]], Any]
_OF_TORCH = frozenset(torch.library._defs)
_KEYS = ("CPU", "CompositeExplicitAutograd")
_bodies: dict[tuple[str, str], Callable[..., Any]] = {}
"""What the program has registered, by the operator's name (with that of its overload) and the key."""
_has_kernel = torch._C._dispatch_has_computed_kernel_for_dispatch_key


def handler_for(simulation: Simulation, func: Any, mode: Any, usual: Handler) -> Handler:
    """What runs an overload in `mode`: `usual`, if it is none of the program's."""
    name = f"{func.namespace}::{func._opname}"
    definition = OPDEFS.get(name)
    if definition is not None:
        return _custom(simulation, definition, mode)
    if name in torch.library._defs and name not in _OF_TORCH and name not in LIBRARIES:
        return _registered(simulation, func, mode, usual)
    return usual


def _custom(simulation: Simulation, definition: Any, mode: Any) -> Handler:
    """An operator of `torch.library.custom_op`."""

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        simulation.graphs_differ = True
        body = body_of(simulation, definition, list(tensors_in(args, kwargs)))
        with mode:
            return body(*args, **kwargs)

    return run


def _registered(simulation: Simulation, func: Any, mode: Any, usual: Handler) -> Handler:
    """An operator of `torch.library.Library` or `torch.library.define`, with kernels for dispatch keys."""
    name = func.name()

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        simulation.graphs_differ = True
        tensors = list(tensors_in(args, kwargs))
        places = {claim.device.type for tensor in tensors if (claim := claim_of(tensor)) is not None}
        kind = simulation.kind if simulation.kind in places else "cpu"
        if places and not _has_kernel(name, kind.upper()):
            refuse_unregistered(simulation, name, kind, tensors)
        body = next((_bodies[name, key] for key in _KEYS if (name, key) in _bodies), None)
        if body is None:
            return usual(args, kwargs)
        with mode:
            return body(*args, **kwargs)

    return run


def _impl(original: Callable[..., None]) -> Callable[..., None]:
    """`Library.impl`, which the other ways of registering a kernel end in."""

    @functools.wraps(original)
    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", *args: Any, **kwargs: Any) -> None:
        original(self, op_name, fn, dispatch_key, *args, **kwargs)
        if inspect.isroutine(fn) and not kwargs.get("with_keyset"):
            name = op_name if isinstance(op_name, str) else op_name.name()
            _bodies[f"{self.ns}::{name.rpartition('::')[2]}", dispatch_key or self.dispatch_key] = fn

    return impl


def patches() -> Iterator[Patch]:
    """What replaces a method of `torch.library.Library`."""
    yield torch.library.Library, "impl", _impl(torch.library.Library.impl)
