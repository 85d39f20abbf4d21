"""Which accelerators there are for this process, real or simulated, as torch answers."""

from __future__ import annotations

import torch

from torchdevlint.runtime.kinds import KINDS


def accelerators() -> tuple[torch.device | None, int]:
    """The type of accelerator that torch prefers, and how many there are; None and 0 without any.

    `torch.accelerator` exists since 2.6.
    """
    module = getattr(torch, "accelerator", None)
    if module is not None:
        device = module.current_accelerator() if module.is_available() else None
        return (None, 0) if device is None else (torch.device(device.type), module.device_count())
    for kind in KINDS:
        backend = getattr(torch, kind, None)
        if backend is not None and hasattr(backend, "is_available") and backend.is_available():
            return torch.device(kind), backend.device_count()
    return None, 0
