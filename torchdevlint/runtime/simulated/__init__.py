"""Simulated accelerators: any PyTorch program on a CPU as if the machine had accelerators.

Every tensor stays an ordinary CPU tensor, so values, autograd, control flow and speed are real. Where it is said to be
is a *claim* on its storage (`claims`). Attributes of torch answer questions about devices from the claims and turn
moves into copies (`movement`, `modules`, `factories`, `storages`), a dispatch mode below autograd checks every
operation (`mode`, `operators`), and a simulated driver stands below torch's own `torch.cuda` (`driver`). `programs` is
about threads, processes, several devices and compilers.

    with simulate(2):
        model = torch.nn.Linear(2, 2).to("cuda:1")
        model(torch.zeros(1, 2))        # RuntimeError: Expected all tensors to be on the same device ...
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from torchdevlint.runtime.importing import when_imported
from torchdevlint.runtime.kinds import KINDS, refusal
from torchdevlint.runtime.simulated import state
from torchdevlint.runtime.simulated.driver import api
from torchdevlint.runtime.simulated.driver.driver import Driver
from torchdevlint.runtime.simulated.operators import texts
from torchdevlint.runtime.simulated.patches import Patches
from torchdevlint.runtime.simulated.programs import compilation, distributed, higher_order, parallel, processes, threads
from torchdevlint.runtime.simulated.state import Simulation
from torchdevlint.runtime.simulated.story import created_at
from torchdevlint.runtime.simulated.tensors import (
    agreeing,
    composites,
    devices,
    exports,
    factories,
    gradients,
    legacy,
    modules,
    movement,
    older,
    randomness,
    registered,
    storages,
    wrappers,
)
from torchdevlint.runtime.simulated.tensors.mode import PlacementMode

__all__ = ["KINDS", "Simulation", "current", "install", "simulate", "uninstall"]

DYNAMO = "torch._dynamo"
_DYNAMO_MAY_WAIT = (2, 13)

_lock = threading.RLock()
_installed: list[_Installation] = []


class _Installation:
    """One simulation with its patches and its mode."""

    def __init__(self, count: int, kind: str, recorder: Any, flat: bool, lasts: bool) -> None:
        self.simulation = Simulation(kind, Driver(kind, count), recorder, flat)
        self.mode = PlacementMode(self.simulation)
        self.patches: Patches | None = None
        self.late: Patches | None = None
        self.lasts = lasts

    def apply(self) -> None:
        _import_what_looks_at_torch(self.lasts)
        state.active = self.simulation
        try:
            self.patches = Patches(self._all())
            self.patches.apply()
        except BaseException:
            state.active = None
            raise
        self.mode.__enter__()
        when_imported(DYNAMO, self._apply_late)

    def _apply_late(self, _dynamo: Any) -> None:
        """What is replaced in `torch._dynamo`, and in what only that has imported."""
        if state.active is self.simulation:
            self.late = Patches([*compilation.patches_of_dynamo(), *higher_order.patches()])
            self.late.apply()

    def take_back(self) -> None:
        self.mode.__exit__(None, None, None)
        assert self.patches is not None
        if self.late is not None:
            self.late.take_back()
        self.patches.take_back()
        state.active = None

    def _all(self) -> Iterator[Any]:
        yield from storages.patches()
        yield from movement.patches()
        yield from exports.patches()
        yield from registered.patches()
        yield from agreeing.patches(self.simulation, self.mode, threads.follower)
        yield from modules.patches()
        yield from older.patches()
        yield from factories.patches()
        yield from wrappers.patches()
        yield from legacy.patches(self.simulation)
        yield from composites.patches()
        yield from gradients.patches()
        yield from randomness.patches()
        yield from api.patches(self.simulation.driver)
        yield from threads.patches(self.mode)
        yield from devices.patches()
        yield from parallel.patches()
        yield from processes.patches()
        yield from distributed.patches()
        yield from compilation.patches()
        if DYNAMO not in sys.modules:
            yield from higher_order.patches()


def _import_what_looks_at_torch(lasts: bool) -> None:
    """Modules that torch imports late, and that keep or compile functions of torch when they are: do it before.

    `torch.func.jvp` imports the first, every optimizer the second. That takes as long as torch itself, so it waits for
    the program to want it where the simulation `lasts`, since nothing is compiled then, whatever it has kept. Older
    releases do not bear it: they look at the attributes of `torch.Tensor` as C++ has made them.
    """
    waits = lasts and texts.installed() >= _DYNAMO_MAY_WAIT
    for name in ("torch._decomp.decompositions_for_jvp", *(() if waits else (DYNAMO,))):
        with suppress(ImportError):
            importlib.import_module(name)


def install(
    count: int = 2, kind: str = "cuda", recorder: Any = None, flat: bool = False, *, lasts: bool = False
) -> Simulation:
    """Simulate `count` accelerators of `kind` (one of `KINDS`) from now on, in this thread and in new ones.

    Inside another simulation the inner one holds until it is uninstalled. With a `count` of 0 the machine has none. If
    `flat`, what asks for an accelerator gets the CPU and nothing is ever misplaced: the control of an experiment. One
    that `lasts` as long as the process begins sooner.
    Raises ValueError for another kind, and for more than a machine has (of mps: one).
    """
    refused = refusal(kind, count)
    if refused is not None:
        raise ValueError(refused)
    with _lock:
        if _installed:
            _installed[-1].take_back()
        inner = _Installation(count, kind, recorder, flat, lasts)
        _installed.append(inner)
        try:
            inner.apply()
        except BaseException:
            _installed.pop()
            if _installed:
                _installed[-1].apply()
            raise
        if recorder is not None:
            recorder.created_at = created_at
            recorder.used = lambda: any(memory.taken for memory in inner.simulation.driver.memory)
        return inner.simulation


def uninstall() -> None:
    """End the innermost simulation: every patched attribute of torch is as it was."""
    with _lock:
        _installed.pop().take_back()
        if _installed:
            _installed[-1].apply()


def current() -> Simulation | None:
    """The active simulation, if there is one."""
    return state.active


@contextmanager
def simulate(count: int = 2, kind: str = "cuda", recorder: Any = None, flat: bool = False) -> Iterator[Simulation]:
    """`install` for the length of a `with` block."""
    simulation = install(count, kind, recorder, flat)
    try:
        yield simulation
    finally:
        uninstall()
