"""`torch.use_deterministic_algorithms(True)`: which operators have no deterministic implementation on CUDA.

By the documentation of that function and the calls of `alertNotDeterministic` in aten/src/ATen/native/cuda; the names
in the texts stand in libtorch_cuda.so of 2.4, 2.9, 2.14 and 2.15. What differs by release is held to be deterministic
where it is not known: `cumsum` after 2.4, `kthvalue` after 2.9, and what only older releases refuse
(`replication_pad1d`, `max_pool3d`). Left out too: `upsample_trilinear3d`, `reflection_pad2d`, `adaptive_max_pool3d`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from torchdevlint.runtime.simulated.errors import header_says
from torchdevlint.runtime.simulated.operators.schema import Call
from torchdevlint.runtime.simulated.operators.texts import installed

_MAXIMUM = 2  # of the modes of `embedding_bag` (EmbeddingBag.cpp)
_LAST_CUMSUM, _LAST_KTHVALUE, _HISTC_OF_INTEGERS = (2, 4), (2, 9), (2, 9)
_CUBLAS = ("mm", "mv", "addmv", "bmm")
_CONFIGURED = (":4096:8", ":16:8")


def _always(name: str) -> Callable[[Call], str]:
    return lambda call: name


def _first(call: Call) -> Any:
    return call.value(0)


def _grid_sampler_2d(call: Call) -> str:
    """GridSampler.cpp, `cond_cudnn_grid_sampler`: cuDNN has bilinear interpolation with zeros and aligned corners."""
    cudnn = call.named("interpolation_mode") == 0 and call.named("padding_mode") == 0 and call.named("align_corners")
    return "" if cudnn else "grid_sampler_2d_backward_cuda"


def _histc(call: Call) -> str:
    """SummaryOps.cu: integers are counted without atomics, but older releases did not tell them apart."""
    if installed() < _HISTC_OF_INTEGERS:
        return "_histc_cuda"
    return "_histc_cuda with floating point input" if _first(call).is_floating_point() else ""


def _cumsum(call: Call) -> str:
    """cuda/ScanKernels.cpp."""
    real = _first(call).is_floating_point() or _first(call).is_complex()
    return "cumsum_cuda_kernel" if real and installed() <= _LAST_CUMSUM else ""


def _ctc_loss(call: Call) -> str:
    """LossCTC.cpp, `ctc_loss`: cuDNN takes targets of int32 only."""
    return "ctc_loss_backward_gpu" if str(call.named("targets").dtype) == "torch.int64" else ""


_ALERTS: dict[str, Callable[[Call], str]] = {
    **{
        f"{name}_backward": _always(f"{name}_backward_cuda")
        for name in ("avg_pool3d", "adaptive_max_pool2d", "fractional_max_pool2d", "fractional_max_pool3d")
    },
    "_adaptive_avg_pool2d_backward": _always("adaptive_avg_pool2d_backward_cuda"),
    "_adaptive_avg_pool3d_backward": _always("adaptive_avg_pool3d_backward_cuda"),
    **{
        f"{name}_backward": _always(f"{name}_backward_out_cuda")
        for name in (
            *("upsample_linear1d", "upsample_bilinear2d", "upsample_bicubic2d"),
            *("reflection_pad1d", "reflection_pad3d"),
        )
    },
    "nll_loss2d_forward": lambda call: "nll_loss2d_forward_out_cuda_template" if call.named("reduction") else "",
    "_ctc_loss_backward": _ctc_loss,
    "_ctc_loss_backward.Tensor": _ctc_loss,
    **{
        name: lambda call: "embedding_bag_backward_cuda_max" if call.named("mode") == _MAXIMUM else ""
        for name in ("_embedding_bag_backward", "_embedding_bag_dense_backward")
    },
    "put": lambda call: "put_" if call.named("accumulate", False) else "",  # without, the CPU says it as well
    "bincount": lambda call: "_bincount_cuda" if call.named("weights") is not None else "",
    "median.dim": _always("median CUDA with indices output"),
    "grid_sampler_2d_backward": _grid_sampler_2d,
    "grid_sampler_3d_backward": _always("grid_sampler_3d_backward_cuda"),
    "scatter_reduce.two": lambda call: "scatter_reduce_cuda_prod_" if call.named("reduce") == "prod" else "",
    "histc": _histc,
    "cumsum": _cumsum,
    "kthvalue": lambda call: "kthvalue CUDA" if installed() <= _LAST_KTHVALUE else "",
}
"""What `alertNotDeterministic` is given for a call, by the name of the operator; empty if it is not called."""


def may_alert(namespace: str, name: str) -> bool:
    """Whether some call of an operator (``median.dim``) has no deterministic implementation."""
    return namespace == "aten" and (_key(name) in _ALERTS or _key(name) in _CUBLAS)


def alert(call: Call, warn_only: bool) -> str:
    """What CUDA says to this call where deterministic algorithms are asked for; empty if it has one.

    aten/src/ATen/Context.cpp, `alertNotDeterministic` and `alertCuBLASConfigNotDeterministic`.
    """
    key = _key(call.schema.name)
    if key in _CUBLAS:
        return _of_cublas() if all(operand.tensor.numel() for operand in call.operands()) else ""
    name = _ALERTS[key](call)
    if not name:
        return ""
    if warn_only:
        return (
            f"{name} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms("
            "True, warn_only=True)'. You can file an issue at https://github.com/pytorch/pytorch/issues to help us "
            "prioritize adding deterministic support for this operation."
        )
    return (
        f"{name} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'. "
        "You can turn off determinism just for this operation, or you can use the 'warn_only=True' option, if that's "
        "acceptable for your application. You can also file an issue at https://github.com/pytorch/pytorch/issues to "
        "help us prioritize adding deterministic support for this operation."
    )


def _key(name: str) -> str:
    """`put_` and `histc.out` are the same to a kernel as `put` and `histc`."""
    base, _, overload = name.partition(".")
    return base.removesuffix("_") if overload in ("", "out") else f"{base.removesuffix('_')}.{overload}"


def _of_cublas() -> str:
    """Releases whose Context.h still has the check want cuBLAS to be configured in the environment."""
    if not header_says("alertCuBLASConfigNotDeterministic", "ATen/Context.h"):
        return ""
    if os.environ.get("CUBLAS_WORKSPACE_CONFIG") in _CONFIGURED:
        return ""
    return (
        "Deterministic behavior was enabled with either `torch.use_deterministic_algorithms(True)` or "
        "`at::Context::setDeterministicAlgorithms(true)`, but this operation is not deterministic because it uses "
        "CuBLAS and you have CUDA >= 10.2. To enable deterministic behavior in this case, you must set an environment "
        "variable before running your PyTorch application: CUBLAS_WORKSPACE_CONFIG=:4096:8 or "
        "CUBLAS_WORKSPACE_CONFIG=:16:8. For more information, go to "
        "https://docs.nvidia.com/cuda/cublas/index.html#results-reproducibility"
    )
