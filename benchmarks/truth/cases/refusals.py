"""What an accelerator refuses although no two operands meet: gradients, operators without a kernel, other libraries."""

# ruff: noqa: E501 (one row, one line)
# fmt: off
from __future__ import annotations

from benchmarks.truth.case import Case, Expectation, ok, raises, rows
from benchmarks.truth.sources import ENGINE, NUMPY, on

_HOOK = "torch/csrc/autograd/custom_function.cpp, check_variable_result"
_DISPATCHER = "aten/src/ATen/core/dispatch/OperatorEntry.cpp, reportError"
_TYPES = "aten/src/ATen/native/cuda/{}, AT_DISPATCH_*; torch/testing/_internal/common_methods_invocations.py, dtypesIfCUDA"
_CUDNN = "aten/src/ATen/cudnn/Descriptors.cpp, getCudnnDataTypeFromScalarType; issue 88571"
_ALERT = "docs: torch.use_deterministic_algorithms; aten/src/ATen/Context.cpp, alertNotDeterministic"
_DLPACK = "numpy/_core/src/multiarray/dlpack.c, from_dlpack"

_FUNCTION = """
class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, n, a, b):
        return a * b.sum()
    @staticmethod
    def backward(ctx, g):
        return None, g, BACK(g)
a, b = (torch.ones(2, device=first, requires_grad=True) for _ in range(2))
"""

GRADIENTS = rows(
    "gradients",
    (
        ("function/cpu", "BACK = lambda g: g.cpu();;Times.apply(2, a, b).sum().backward()", raises("RuntimeError", "Function TimesBackward returned an invalid gradient at index 1 - expected device cuda:0 but got cpu", source=ENGINE)),
        ("function/scalar-of-the-cpu", "BACK = lambda g: torch.tensor(3.0);;b = torch.ones((), device=first, requires_grad=True);;Times.apply(2, a, b).sum().backward();;seen['r'] = b.grad", on("cuda:0", ENGINE + " (0-dim gradients are moved)")),
        ("function/there", "BACK = lambda g: g;;Times.apply(2, a, b).sum().backward();;seen['r'] = b.grad", on("cuda:0", ENGINE)),
        ("function/not-needed", "BACK = lambda g: g.cpu();;Times.apply(2, a, b.detach()).sum().backward();;seen['r'] = a.grad", on("cuda:0", ENGINE + " (edges that are not valid are left out)")),
        ("hook/cpu", "a.register_hook(lambda g: g.cpu());;(a * 2).sum().backward()", raises("RuntimeError", "hook '<lambda>' has changed the type of value (was torch.cuda.FloatTensor got torch.FloatTensor)", source=_HOOK)),
        ("hook/there", "def half(g):\n    return g / 2\na.register_hook(half);;(a * 2).sum().backward();;seen['r'] = a.grad", on("cuda:0", _HOOK)),
    ),
    setup=_FUNCTION,
)

KERNELS = rows(
    "kernels",
    (
        ("quantized-linear", "q = torch.ao.nn.quantized.dynamic.Linear(2, 2);;q(x)", raises("NotImplementedError", "Could not run 'quantized::linear_dynamic' with arguments from the 'CUDA' backend", source=_DISPATCHER)),
        ("custom-op/cpu-only", "torch.library.custom_op('truth::c', lambda a: a + 1, mutates_args=(), device_types='cpu', schema='(Tensor a) -> Tensor');;torch.ops.truth.c(x)", raises("NotImplementedError", "Could not run 'truth::c' with arguments from the 'CUDA' backend", source=_DISPATCHER)),
        ("custom-op/any", "torch.library.custom_op('truth::e', lambda a: a + 1, mutates_args=(), schema='(Tensor a) -> Tensor');;seen['r'] = torch.ops.truth.e(x)", on("cuda:0", "docs: torch.library.custom_op (device_types)")),
        ("numpy-from-dlpack", "np.from_dlpack(x)", raises("RuntimeError", "Unsupported device in DLTensor.", source=_DLPACK)),
        ("numpy-from-dlpack/cpu", "seen['r'] = np.from_dlpack(x.cpu())", ok(NUMPY, r="ndarray float32 [2, 2]")),
        ("torch-from-dlpack", "seen['r'] = torch.from_dlpack(x)", on("cuda:0", "torch/utils/dlpack.py, from_dlpack")),
    ),
    setup="x = torch.ones(2, 2, device=first)",
)


def _lacks(kernel: str, file: str) -> Expectation:
    return raises("RuntimeError", f"\"{kernel}\" not implemented for 'Long'", source=_TYPES.format(file))


TYPES = rows(
    "number-types",
    (
        ("mm", "x @ x", _lacks("addmm_cuda", "Blas.cpp")),
        ("mm/empty", "seen['r'] = x[:0] @ x", on("cuda:0", "aten/src/ATen/native/cuda/Blas.cpp, addmm_out_cuda_impl (returns before it asks)")),
        ("mm/cpu", "x = x.cpu();;seen['r'] = x @ x", on("cpu", "aten/src/ATen/native/LinearAlgebra.cpp, addmm_impl_cpu_")),
        ("mm/float", "seen['r'] = (x.float() @ x.float()).long()", on("cuda:0", _TYPES.format("Blas.cpp"))),
        ("linear", "F.linear(x, x, x[0])", _lacks("addmm_cuda", "Blas.cpp")),
        ("bmm", "torch.einsum('bij,bjk->bik', x[None], x[None])", _lacks("baddbmm_cuda", "Blas.cpp")),
        ("mv", "x @ x[0]", _lacks("addmv_impl_cuda", "Blas.cpp")),
        ("dot", "x[0] @ x[0]", _lacks("dot", "Blas.cpp")),
        ("max-pool", "F.max_pool2d(x[None], 2)", _lacks("max_pool2d_with_indices_out_cuda_frame", "DilatedMaxPool2d.cu")),
        ("avg-pool", "F.avg_pool2d(x[None], 2)", _lacks("avg_pool2d_out_cuda_frame", "AveragePool2d.cu")),
        ("convolution", "F.conv2d(x[None, None], x[None, None])", raises("RuntimeError", "getCudnnDataTypeFromScalarType() not supported for Long", source=_CUDNN)),
        ("sum", "seen['r'] = (x[:, :, None] * x).sum(1)", on("cuda:0", "aten/src/ATen/native/cuda/ReduceSumProdKernel.cu (all types)")),
    ),
    setup="x = torch.arange(9, device=first).reshape(3, 3)",
)

DETERMINISM = rows(
    "determinism",
    (
        ("adaptive-avg-pool/backward", "F.adaptive_avg_pool2d(x, 3).sum().backward()", raises("RuntimeError", "adaptive_avg_pool2d_backward_cuda does not have a deterministic implementation, but you set", source=_ALERT)),
        ("adaptive-avg-pool/of-one", "F.adaptive_avg_pool2d(x, 1).sum().backward();;seen['r'] = x.grad", on("cuda:0", "aten/src/ATen/native/AdaptiveAveragePooling.cpp (a mean)")),
        ("bicubic/backward", "F.interpolate(x, scale_factor=2, mode='bicubic').sum().backward()", raises("RuntimeError", "upsample_bicubic2d_backward_out_cuda does not have", source=_ALERT)),
        ("bilinear/backward", "F.interpolate(x, scale_factor=2, mode='bilinear').sum().backward();;seen['r'] = x.grad", on("cuda:0", "torch/nn/functional.py, interpolate (takes it apart)")),
        ("pixel-wise-loss/mean", "F.cross_entropy(x, x.detach()[:, 0].long())", raises("RuntimeError", "nll_loss2d_forward_out_cuda_template does not have", source=_ALERT)),
        ("pixel-wise-loss/none", "seen['r'] = F.cross_entropy(x, x.detach()[:, 0].long(), reduction='none')", on("cuda:0", "aten/src/ATen/native/cuda/NLLLoss2d.cu")),
        ("grid-sample/backward", "F.grid_sample(x, torch.zeros(1, 2, 2, 2, device=first), align_corners=False).sum().backward()", raises("RuntimeError", "grid_sampler_2d_backward_cuda does not have", source=_ALERT)),
        ("median/dim", "x.median(0)", raises("RuntimeError", "median CUDA with indices output does not have", source=_ALERT)),
        ("median/all", "seen['r'] = x.median()", on("cuda:0", _ALERT)),
        ("median/cpu", "seen['r'] = x.cpu().median(0).values", on("cpu", _ALERT)),
        ("median/warn-only", "torch.use_deterministic_algorithms(True, warn_only=True);;seen['r'] = x.median(0).values", on("cuda:0", _ALERT)),
    ),
    setup="torch.use_deterministic_algorithms(True);;x = torch.zeros(1, 2, 8, 8, device=first, requires_grad=True)",
    alone=True,
)

CASES: tuple[Case, ...] = (*GRADIENTS, *KERNELS, *TYPES, *DETERMINISM)
