"""Tensors that another library takes over: NumPy knows the CPU alone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.state import simulation
from torchdevlint.runtime.simulated.story import reported
from torchdevlint.runtime.simulated.tensors.claims import claim_of

np: Any
try:
    import numpy as np
except ImportError:  # torch works without
    np = None


def _from_dlpack(original: Callable[..., Any]) -> Callable[..., Any]:
    """`numpy.from_dlpack` (numpy/_core/src/multiarray/dlpack.c): of devices it knows the CPU alone.

    With ``device="cpu"`` torch is asked for a copy there, which 2.9 and later give.
    """

    @functools.wraps(original)
    def from_dlpack(x: Any, /, **kwargs: Any) -> Any:
        if isinstance(x, torch.Tensor) and kwargs.get("device") is None:
            claim = claim_of(x)
            if claim is not None and claim.device.type != "cpu":
                x.__dlpack__()  # what torch itself refuses comes first
                error = RuntimeError("Unsupported device in DLTensor.")
                raise reported(simulation(), error, [("x", x)], "from_dlpack")
        return original(x, **kwargs)

    return from_dlpack


def patches() -> Iterator[Patch]:
    """What replaces a function of `numpy`, where there is one."""
    if np is not None and hasattr(np, "from_dlpack"):
        yield np, "from_dlpack", _from_dlpack(np.from_dlpack)
