"""Storages with claimed devices: `UntypedStorage.device` answers the claim, and new storages carry one.

With these torch's own code for saving, loading, deep copies and sharing works unchanged: `torch.save` tags a storage
with its device, `torch.load` asks whether that device is there and moves the storage to it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from torchdevlint.runtime.record.sites import user_line
from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.state import simulation
from torchdevlint.runtime.simulated.tensors.claims import ATTRIBUTE, CPU, Claim

_Base = torch._C.StorageBase
_real_device = torch.UntypedStorage.device.__get__


def _device(self: torch.UntypedStorage) -> torch.device:
    claim: Claim | None = getattr(self, ATTRIBUTE)
    device: torch.device = _real_device(self) if claim is None else claim.device
    return device


def _new(cls: type, *args: Any, **kwargs: Any) -> torch.UntypedStorage:
    active = simulation()
    wanted = kwargs.pop("device", None)
    device = CPU if wanted is None else active.resolve(active.driver.parse(wanted))
    if device.type not in ("cpu", active.kind):
        made: torch.UntypedStorage = _Base.__new__(cls, *args, device=device, **kwargs)
        return made
    made = _Base.__new__(cls, *args, **kwargs)
    claim_storage(made, device)
    return made


def claim_storage(storage: torch.UntypedStorage, device: torch.device, how: str = "storage") -> None:
    """Say that the bytes of `storage` are on `device` (resolved)."""
    setattr(storage, ATTRIBUTE, simulation().claim_for(storage.nbytes(), device, how, user_line()))


def _is_cuda(self: torch.UntypedStorage) -> bool:
    return bool(_device(self).type == "cuda")


def _reading(original: Callable[..., Any]) -> Callable[..., Any]:
    """What copies bytes to the CPU, or to another storage: a forked child cannot."""

    @functools.wraps(original)
    def read(self: torch.UntypedStorage, *args: Any, **kwargs: Any) -> Any:
        if _device(self).type == simulation().kind:
            simulation().driver.refuse_bad_fork()
        return original(self, *args, **kwargs)

    return read


def patches() -> Iterator[Patch]:
    """What replaces attributes of `torch.UntypedStorage`."""
    yield torch.UntypedStorage, ATTRIBUTE, None
    yield torch.UntypedStorage, "device", property(_device)
    yield torch.UntypedStorage, "is_cuda", property(_is_cuda)
    for name in ("_write_file", "cpu"):
        yield torch.UntypedStorage, name, _reading(getattr(torch.UntypedStorage, name))
    yield torch.UntypedStorage, "__new__", staticmethod(_new)
