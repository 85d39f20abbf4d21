"""Who looks on at calls: checks that need no say in what a call gives.

Such a check is a module of this folder that holds ``FUNCTIONS``, a table from public names of library functions and
classes to what is called with each call of them and with what it gave, or ``METHODS``, one from names of methods to
what is called with the receiver, before the call has any effect. Each is called for every alternative that a name or
receiver stands for, on every path.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import ModuleType

from torchdevlint.flow.calling.arguments import Arguments
from torchdevlint.flow.checks import (
    collectives,
    cuda_calls,
    deprecated,
    device_numbers,
    device_specs,
    dispatched,
    forks,
    forwarding,
    host_copies,
    leaves,
    losses,
    made_elsewhere,
    metrics,
    mps,
    optimizer_order,
    own_gpus,
    packed_lengths,
    pinning,
    repeated_moves,
    samplers,
    scalar_losses,
    unpinned,
    waits,
    workers,
)
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Value

SeesFunction = Callable[[Frame, State, ast.Call, str, Arguments, Value], None]
"""Gets the frame, the state, the call, the public name of what is called, its arguments, and what it gave."""
SeesMethod = Callable[[Frame, State, ast.Call, Value, Arguments], None]
"""Gets the frame, the state, the call, whose function is an `ast.Attribute`, its receiver, and its arguments."""

CHECKS: tuple[ModuleType, ...] = (
    device_specs,
    workers,
    pinning,
    losses,
    metrics,
    deprecated,
    device_numbers,
    cuda_calls,
    own_gpus,
    collectives,
    made_elsewhere,
    mps,
    forwarding,
    packed_lengths,
    forks,
    samplers,
    scalar_losses,
    waits,
    unpinned,
    repeated_moves,
    leaves,
    host_copies,
    optimizer_order,
    dispatched,
)
"""In the order in which they are asked."""


def _by_name(attribute: str) -> dict[str, tuple[Callable[..., None], ...]]:
    table: dict[str, tuple[Callable[..., None], ...]] = {}
    for check in CHECKS:
        for name, sees in getattr(check, attribute, {}).items():
            table[name] = (*table.get(name, ()), sees)
    return table


_FUNCTIONS: dict[str, tuple[SeesFunction, ...]] = _by_name("FUNCTIONS")
_METHODS: dict[str, tuple[SeesMethod, ...]] = _by_name("METHODS")


def function(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """A library function or class with the public name `name` was called, and gave `given`."""
    for sees in _FUNCTIONS.get(name, ()):
        sees(frame, state, node, name, arguments, given)


def method(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """A method of `receiver`, which is no library namespace, is about to be called."""
    for sees in _METHODS.get(node.func.attr, ()):  # type: ignore[attr-defined]
        sees(frame, state, node, receiver, arguments)
