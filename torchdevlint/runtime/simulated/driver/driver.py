"""A simulated accelerator driver: which devices there are, which is current, what has been initialised.

Plain state without patches. `cuda_api`, `accelerator_api` and `other_kinds` put it below PyTorch's own Python, so that
PyTorch's code decides what initialises, when `CUDA_VISIBLE_DEVICES` is read, and what a forked child may do.
"""

from __future__ import annotations

import os
import threading
import weakref
from functools import cache
from typing import Any

import torch

from torchdevlint.runtime.simulated.driver.memory import DeviceMemory
from torchdevlint.runtime.simulated.driver.stream_table import StreamTable
from torchdevlint.runtime.simulated.errors import initialization_error, invalid_ordinal


class _Thread(threading.local):
    """CUDA's current device belongs to a thread and starts at 0 (cudaSetDevice)."""

    current = 0


class Driver:
    """`installed` accelerators of one `kind` ("cuda", "xpu" or "mps"), and the state of their driver.

    Memory is counted in `memory`, one entry per visible device; streams and events are in `streams`.
    """

    def __init__(self, kind: str = "cuda", installed: int = 2) -> None:
        self.kind = kind
        self.installed = installed
        self.memory: tuple[DeviceMemory, ...] = tuple(DeviceMemory() for _ in range(installed))
        self.streams = StreamTable()
        self.initialised = False
        self.sync_debug_mode = 0
        self.kept: dict[str, Any] = {}  # what patches make for this driver, for when they are applied again
        self._ordinals: tuple[int, ...] | None = None
        self._devices: tuple[torch.device, ...] = ()
        self._poisons_forks = False
        self.in_bad_fork = False
        self.memory_was_asked = False
        self._thread = _Thread()
        _watch_forks()
        _drivers.add(self)

    # -- devices ------------------------------------------------------------------------------------------------

    @property
    def uuids(self) -> tuple[str, ...]:
        """One for each installed accelerator, as `nvidia-smi -L` prints them."""
        return tuple(f"GPU-{ordinal:08x}-5157-4c41-5445-44ff00000000" for ordinal in range(self.installed))

    def ordinals(self) -> tuple[int, ...]:
        """The installed accelerators that this process sees, in its order. The first call settles it.

        CUDA reads `CUDA_VISIBLE_DEVICES` when its driver is initialised (cuInit), and never again. How the variable is
        read is `torch.cuda._parse_visible_devices`, which follows CUDA: the list ends at the first entry that is not
        there, and is empty if one entry comes twice.
        """
        if self._ordinals is None:
            self._ordinals = self._visible_ordinals() if self.kind == "cuda" else tuple(range(self.installed))
            self._devices = tuple(torch.device(self.kind, index) for index in range(len(self._ordinals)))
        return self._ordinals

    def visible(self) -> int:
        """How many accelerators this process sees; settles it (cudaGetDeviceCount)."""
        return len(self.ordinals())

    def count(self) -> int:
        """How many this process sees, asked by the program: from now on forks are poisoned."""
        self.poison_forks()
        return self.visible()

    def _visible_ordinals(self) -> tuple[int, ...]:
        wanted = torch.cuda._parse_visible_devices()
        if wanted and isinstance(wanted[0], str):
            return tuple(torch.cuda._transform_uuid_to_ordinals(wanted, list(self.uuids)))
        seen: list[int] = []
        for ordinal in wanted:
            if ordinal >= self.installed:
                break
            seen.append(ordinal)
        return tuple(seen)

    @property
    def current(self) -> int:
        return self._thread.current

    def set_current(self, index: int) -> None:
        """Make a device the current one of this thread. Raises what c10/cuda/CUDAFunctions.cpp raises."""
        if index < 0:
            raise RuntimeError("device id must be positive!")
        if index >= self.visible():
            raise invalid_ordinal(self.kind, index, self.visible())
        self._thread.current = index

    def parse(self, device: Any) -> torch.device:
        """A device as PyTorch's functions take it; None is the accelerator. Raises what torch raises."""
        if device is None:
            return torch.device(self.kind)
        return torch.device(self.kind, device) if type(device) is int else torch.device(device)

    def exchange(self, index: int) -> int:
        """Make a device the current one and give the one that was; a negative index does and gives nothing, -1."""
        if index < 0:
            return -1
        self.initialise()
        before = self.current
        self.set_current(index)
        return before

    def maybe_exchange(self, index: int) -> int:
        """The same, as a function of its own: dynamo tells the two apart by what they are."""
        return self.exchange(index)

    def resolve(self, device: torch.device) -> torch.device:
        """`device` with its index. Initialises, and raises what the accelerator raises for one that is not there."""
        self.initialise()
        index = device.index
        if index is None:
            index = self._thread.current
        if index >= len(self._devices):
            raise invalid_ordinal(self.kind, index, len(self._devices))
        return self._devices[index]

    # -- life ---------------------------------------------------------------------------------------------------

    def initialise(self) -> None:
        """What the first use of a device does: PyTorch's own lazy initialisation, with its own errors."""
        if self.initialised and not self.in_bad_fork:
            return
        lazy_init = getattr(torch.get_device_module(self.kind), "_lazy_init", None)
        if lazy_init is not None:
            lazy_init()
        else:
            self.start()

    def start(self) -> None:
        """The lower half of initialisation (`_cuda_init`, torch/csrc/cuda/Module.cpp: THCPModule_initExtension)."""
        self.poison_forks()
        if not self.visible():
            # c10/cuda/CUDAFunctions.cpp: device_count_ensure_non_zero
            raise RuntimeError(f"No {self.kind.upper()} GPUs are available")
        self.initialised = True

    def poison_forks(self) -> None:
        """From now on a forked child cannot use the accelerator (`poison_fork`, torch/csrc/cuda/Module.cpp)."""
        self._poisons_forks = True

    def after_fork(self) -> None:
        """Called in a forked child."""
        if self._poisons_forks:
            self.in_bad_fork = True
            for memory in self.memory:
                memory.poison()  # for the claims that were inherited as well

    def excuse_fork(self) -> None:
        """This child was forked by a harness, not by the program, and may go on with what it has inherited."""
        if self.in_bad_fork:
            self.in_bad_fork = False
            for memory in self.memory:
                memory.restore()

    def refuse_bad_fork(self) -> None:
        """Raises what a forked child gets that reads tensors of its parent's accelerator."""
        if self.in_bad_fork:
            raise initialization_error()

    # -- memory -------------------------------------------------------------------------------------------------

    def memory_of(self, index: int) -> DeviceMemory:
        """Of a visible device; raises what the caching allocator does for another (`assertValidDevice`)."""
        if not 0 <= index < self.visible():
            raise RuntimeError(f"Invalid device argument {index}: did you call init?")
        self.memory_was_asked = True
        return self.memory[index]

    def empty_cache(self) -> None:
        for device in self.memory:
            device.empty_cache()


_drivers: weakref.WeakSet[Driver] = weakref.WeakSet()


@cache
def _watch_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)


def _after_fork() -> None:
    for driver in list(_drivers):
        driver.after_fork()
