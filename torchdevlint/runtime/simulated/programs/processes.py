"""Tensors that travel between processes, and child processes that start as new interpreters.

A forked child has the simulation of its parent. A child of `multiprocessing`'s methods "spawn" and "forkserver" gets it
before it imports the program's main module. What arrives through shared memory is on the CPU, or on the accelerator it
was on in the process that sent it (`torch.multiprocessing.reductions` asks the storage).
"""

from __future__ import annotations

import multiprocessing.reduction
import multiprocessing.spawn
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.state import simulation
from torchdevlint.runtime.simulated.tensors.claims import ATTRIBUTE, CPU
from torchdevlint.runtime.simulated.tensors.storages import claim_storage

_Base = torch._C.StorageBase
_ON_THE_CPU = ("_new_shared_fd_cpu", "_new_shared_filename_cpu", "_new_using_fd_cpu", "_new_using_filename_cpu")


class Handle:
    """Shared memory that stands for that of an accelerator; equal handles name the same memory, as with CUDA's."""

    def __init__(self, storage: torch.UntypedStorage) -> None:
        from torch.multiprocessing import get_sharing_strategy
        from torch.multiprocessing.reductions import fd_id

        if get_sharing_strategy() == "file_system":
            self.parts: tuple[Any, ...] = storage._share_filename_cpu_()
            self.key: Any = self.parts[1]
            storage._shared_incref()
        else:
            fd, size = storage._share_fd_cpu_()
            self.parts = (multiprocessing.reduction.DupFd(fd), size)
            self.key = fd_id(fd)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    def open(self) -> torch.UntypedStorage:
        if len(self.parts) == 3:
            made: torch.UntypedStorage = torch.UntypedStorage._new_shared_filename_cpu(*self.parts)
            made._shared_decref()
            return made
        fd = self.parts[0].detach()
        try:
            return torch.UntypedStorage._new_shared_fd_cpu(fd, self.parts[1])
        finally:
            os.close(fd)

    def drop(self) -> None:
        """This process has the memory already."""
        if len(self.parts) == 2:
            os.close(self.parts[0].detach())


def _kept(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    """The Python object that torch keeps for these bytes: before 2.6 one made from shared memory is another."""
    with _disable_current_modes():
        tensor = torch._C._VariableFunctions.empty(0, dtype=torch.uint8)
        return tensor.set_(storage, 0, (storage.nbytes(),), (1,)).untyped_storage()


def _share_cuda(self: torch.UntypedStorage) -> tuple[Any, ...]:
    """What `THPStorage_shareCuda` (torch/csrc/StorageSharing.cpp) returns: device, handle, sizes, counter and event."""
    size = self.nbytes()
    handle = Handle(self) if size else None
    return self.device.index, handle, size, 0, handle, 0, b"", False


def _new_shared_cuda(cls: type, device: int, handle: Handle, *rest: Any) -> torch.UntypedStorage:
    made = _kept(handle.open())
    active = simulation()
    claim_storage(made, active.resolve(torch.device(active.kind, device)), "shared")
    return made


def _release_ipc_counter_cuda(cls: type, handle: Handle, *rest: Any) -> None:
    handle.drop()


def _is_shared(self: torch.UntypedStorage) -> bool:
    """Memory of an accelerator always counts as shared (torch/csrc/StorageSharing.cpp, `THPStorage_isShared`)."""
    shared: bool = self.device.type not in ("cpu", "meta") or _Base.is_shared(self)
    return shared


def _on_the_cpu(name: str) -> Any:
    original = getattr(_Base, name)

    def new(cls: type, *args: Any) -> torch.UntypedStorage:
        made: torch.UntypedStorage = _kept(original(*args))
        if getattr(made, ATTRIBUTE) is None:
            claim_storage(made, CPU, "shared")
        return made

    new.__name__ = name
    return classmethod(new)


class _Beginning:
    """Unpickled by a child before anything else: starts the simulation there.

    It is told the search path of its parent first, for the package may be importable only by that. Then torch is
    imported, with which the simulation begins where `torchdevlint run` has started the parent (`boot`).
    """

    def __init__(self, count: int, kind: str) -> None:
        self.source = (
            f"import sys\nsys.path[:] = {sys.path!r}\nimport torch\nfrom {__name__} import begin\n"
            f"begin({count!r}, {kind!r})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (self.source, {})


def begin(count: int, kind: str) -> None:
    """In a child: simulate, unless `torchdevlint run` has seen to it."""
    from torchdevlint.runtime import simulated

    if simulated.current() is None:
        simulated.install(count, kind, lasts=True)


def _preparation(original: Callable[[str], dict[str, Any]]) -> Callable[[str], dict[str, Any]]:
    def get_preparation_data(name: str) -> dict[str, Any]:
        driver = simulation().driver
        return {"torchdevlint": _Beginning(driver.installed, driver.kind), **original(name)}

    return get_preparation_data


def patches() -> Iterator[Patch]:
    """What replaces attributes of `torch.UntypedStorage` and of `multiprocessing.spawn`."""
    storage = torch.UntypedStorage
    for name in _ON_THE_CPU:
        yield storage, name, _on_the_cpu(name)
    yield storage, "_share_cuda_", _share_cuda
    yield storage, "_new_shared_cuda", classmethod(_new_shared_cuda)
    yield storage, "_release_ipc_counter_cuda", classmethod(_release_ipc_counter_cuda)
    yield storage, "is_shared", _is_shared
    yield multiprocessing.spawn, "get_preparation_data", _preparation(multiprocessing.spawn.get_preparation_data)
