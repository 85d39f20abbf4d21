"""Libraries of CUDA that programs choose and configure: cuFFT, cuBLAS, the solvers, the profiler. Nothing changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from torchdevlint.runtime.simulated.errors import refusing
from torchdevlint.runtime.simulated.patches import Patch


class PlanCache:
    """`torch.backends.cuda.cufft_plan_cache[i]`: always empty; the size is cuFFT's CUFFT_DEFAULT_CACHE_SIZE."""

    def __init__(self, device_index: int) -> None:
        self.device_index = device_index
        self.max_size = 4096

    @property
    def size(self) -> int:
        return 0

    def clear(self) -> None:
        return None


def patches() -> Iterable[Patch]:
    yield torch.backends.cuda, "cuFFTPlanCache", PlanCache
    yield torch.backends.cuda, "cufft_plan_cache", torch.backends.cuda.cuFFTPlanCacheManager()
    for library in ("blas", "linalg"):
        yield from _preference(library)
    for name in ("Cublas", "CublasLt"):
        for verb in ("get", "set"):
            yield torch._C, f"_cuda_{verb}{name}WorkspaceSize", refusing("a workspace of cuBLAS")
    # A build for CUDA would lay the weights of a recurrent layer out for cuDNN (torch/nn/modules/rnn.py).
    yield torch, "_use_cudnn_rnn_flatten_weight", lambda: False
    yield torch.autograd.profiler.profile, "__init__", _profiling_the_cpu(torch.autograd.profiler.profile.__init__)


def _preference(library: str) -> Iterable[Patch]:
    """A CPU build refuses to prefer cuBLASLt or MAGMA, so the choice is only remembered here."""
    getter, setter = f"_get_{library}_preferred_backend", f"_set_{library}_preferred_backend"
    if not (hasattr(torch._C, getter) and hasattr(torch._C, setter)):
        return
    chosen = [getattr(torch._C, getter)()]
    yield torch._C, getter, lambda: chosen[0]
    yield torch._C, setter, lambda backend: chosen.__setitem__(0, backend)


def _profiling_the_cpu(real: Any) -> Any:
    """CUDA's activities are those of the CPU here: a profile of CUDA alone would refuse to start."""

    def __init__(self: Any, enabled: bool = True, **kwargs: Any) -> None:  # noqa: N807  # it replaces one
        for name in ("use_cuda", "use_device"):
            kwargs.pop(name, None)
        real(self, enabled, **{**kwargs, "use_cpu": True})

    return __init__
