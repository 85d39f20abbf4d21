"""Types of numbers that CUDA's kernels lack and those of the CPU have, and the reverse.

Which types an overload lacks is a table made from torch's own database of operators (`kernel_types`); what is said then
has the name of the kernel, which is written here. An overload whose name is not known is let through. So are empty
operands, for which most kernels return before they ask, and half precision, which depends on the GPU and the build.
"""

from __future__ import annotations

from functools import cache

from torchdevlint.runtime.simulated.errors import header_says
from torchdevlint.runtime.simulated.operators.kernel_types import LACKED_BY_CUDA, LACKED_BY_THE_CPU
from torchdevlint.runtime.simulated.operators.schema import Call, Schema
from torchdevlint.runtime.simulated.operators.texts import dtype_name, mismatch

_KERNELS = {
    "addbmm": "addmm_cuda",
    "addmm": "addmm_cuda",
    "addmv": "addmv_impl_cuda",
    "avg_pool2d": "avg_pool2d_out_cuda_frame",
    "avg_pool3d": "avg_pool3d_out_cuda",
    "baddbmm": "baddbmm_cuda",
    "bmm": "baddbmm_cuda",
    "dot": "dot",
    "max_pool2d_with_indices": "max_pool2d_with_indices_out_cuda_frame",
    "max_pool3d_with_indices": "max_pool3d_with_indices_out_frame",
    "mm": "addmm_cuda",
    "mv": "addmv_impl_cuda",
    "upsample_bicubic2d": "upsample_bicubic2d_out_frame",
    "upsample_bilinear2d": "upsample_bilinear2d_out_frame",
    "vdot": "dot",
}
"""What AT_DISPATCH names in the CUDA sources of an operator, as it stands in libtorch_cuda.so of 2.4, 2.14 and 2.15.

cuda/Blas.cpp (of real numbers `vdot` is `dot`), LinearAlgebra.cpp (`addbmm` is made of `addmm`), cuda/AveragePool2d.cu,
AveragePool3d.cu, DilatedMaxPool2d.cu, DilatedMaxPool3d.cu, UpSampleBilinear2d.cu, UpSampleBicubic2d.cu.
"""
_CONVOLUTION = "convolution"
_QUANTIZED = {
    **{name: f"{name}.out" for name in ("cat", "hardsigmoid", "leaky_relu", "reflection_pad1d")},
    **dict.fromkeys(("mean", "mean.dim"), "mean.out"),
    **{
        name: name
        for name in """
            _adaptive_avg_pool3d _prelu_kernel channel_shuffle equal grid_sampler_2d hardtanh hardtanh_ max min
            quantized_batch_norm quantized_max_pool1d quantized_max_pool3d reflection_pad2d resize_ std.correction
        """.split()
    },
}
"""What has a kernel for quantized tensors on the CPU and none on CUDA, and the overload that is then refused.

So say the builds for CUDA of 2.4.1, 2.9.1, 2.14.1 and 2.15.0, by
`torch._C._dispatch_has_computed_kernel_for_dispatch_key`. Comparisons lack one too; they are let through, since most
go past the dispatch mode.
"""


def types_lacked(schema: Schema) -> frozenset[str]:
    """The types of its first operand (``int64``) that a CUDA kernel lacks, if what it says then is known."""
    base = _base(schema)
    if base not in _KERNELS and base != _CONVOLUTION:
        return frozenset()
    return frozenset(LACKED_BY_CUDA.get(base, "").split())


def types_lacked_by_the_cpu(schema: Schema) -> frozenset[str]:
    """The types of its first operand that only CUDA's kernel has, so that nothing can be computed here."""
    return frozenset(LACKED_BY_THE_CPU.get(_base(schema), "").split())


def lacked_when_quantized(schema: Schema) -> str:
    """The overload (``cat.out``) that CUDA has no kernel of for quantized tensors, or empty."""
    return _QUANTIZED.get(schema.name, "") if schema.namespace == "aten" else ""


def refusal(call: Call) -> Exception | None:
    """What CUDA raises for a call with one of the `types_lacked`, which is right but for that."""
    operands = [operand for operand in call.operands() if not operand.out]
    if any(not operand.tensor.numel() for operand in operands):
        return None
    name = dtype_name(operands[0].tensor)
    if _base(call.schema) != _CONVOLUTION:
        kernel = _KERNELS[_base(call.schema)]
        return mismatch(f"\"{kernel}\" not implemented for '{name}'", *operands, kind=_not_implemented())
    import torch

    if call.named("groups", 1) != 1 or not torch._C._get_cudnn_enabled():
        return None  # other kernels, with other names
    return mismatch(f"getCudnnDataTypeFromScalarType() not supported for {name}", *operands)  # cudnn/Descriptors.cpp


def _base(schema: Schema) -> str:
    """The name in the tables: what writes in place, or to ``out=``, has the same kernel."""
    return schema.base.removesuffix("_") if schema.namespace == "aten" and schema.overload in ("", "out") else ""


@cache
def _not_implemented() -> type[Exception]:
    """What AT_DISPATCH raises: AT_ERROR made a RuntimeError in older releases."""
    headers = ("torch/headeronly/core/Dispatch.h", "ATen/Dispatch.h")
    newer = any(header_says("TORCH_CHECK_NOT_IMPLEMENTED", header) for header in headers)
    return NotImplementedError if newer else RuntimeError
