"""What an accelerator refuses although no two operands meet: gradients, operators without a kernel, other libraries."""

# ruff: noqa: E501 (one row, one line)
# fmt: off
from __future__ import annotations

from benchmarks.truth.case import Case, Expectation, ok, raises, rows
from benchmarks.truth.sources import ENGINE, ITERATOR, NUMPY, mixed, on

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
        ("function/of-two-outputs", "class Two(torch.autograd.Function):;;    @staticmethod;;    def forward(ctx, a):;;        return a * 2, a * 3;;    @staticmethod;;    def backward(ctx, g, h):;;        seen['h'] = h;;        return g + h;;Two.apply(a)[0].sum().backward();;seen['r'] = a.grad", ok("torch/csrc/autograd/python_function.cpp, PyNode::apply (zeros where the output is)", r="cuda:0", h="cuda:0")),
        ("scalar-of-the-cpu", "s = torch.tensor(2.0, requires_grad=True);;(a.detach() * s).sum().backward();;seen['r'] = s.grad", on("cpu", ENGINE + " (0-dim gradients are moved)")),
        ("hook/cpu", "a.register_hook(lambda g: g.cpu());;(a * 2).sum().backward()", raises("RuntimeError", "hook '<lambda>' has changed the type of value (was torch.cuda.FloatTensor got torch.FloatTensor)", source=_HOOK)),
        ("hook/there", "def half(g):\n    return g / 2\na.register_hook(half);;(a * 2).sum().backward();;seen['r'] = a.grad", on("cuda:0", _HOOK)),
    ),
    setup=_FUNCTION,
)

_BUILD = "torch._C._dispatch_has_computed_kernel_for_dispatch_key, as builds for CUDA of 2.4.1 to 2.15.0 answer"
_LIBRARY = "library = torch.library.Library('truth_l', 'FRAGMENT');;library.define('NAME(Tensor a) -> Tensor')"


def _no_kernel(name: str, key: str) -> Expectation:
    return raises("NotImplementedError", f"Could not run 'aten::{name}' with arguments from the '{key}' backend", source=_BUILD)


KERNELS = rows(
    "kernels",
    (
        ("quantized-linear", "q = torch.ao.nn.quantized.dynamic.Linear(2, 2);;q(x)", raises("NotImplementedError", "Could not run 'quantized::linear_dynamic' with arguments from the 'CUDA' backend", source=_DISPATCHER)),
        ("custom-op/cpu-only", "torch.library.custom_op('truth::c', lambda a: a + 1, mutates_args=(), device_types='cpu', schema='(Tensor a) -> Tensor');;torch.ops.truth.c(x)", raises("NotImplementedError", "Could not run 'truth::c' with arguments from the 'CUDA' backend", source=_DISPATCHER)),
        ("custom-op/any", "torch.library.custom_op('truth::e', lambda a: a + 1, mutates_args=(), schema='(Tensor a) -> Tensor');;seen['r'] = torch.ops.truth.e(x)", on("cuda:0", "docs: torch.library.custom_op (device_types)")),
        ("library/cpu-only", f"{_LIBRARY.replace('NAME', 'one')};;library.impl('one', lambda a: a + 1, 'CPU');;torch.ops.truth_l.one(x)", raises("NotImplementedError", "Could not run 'truth_l::one' with arguments from the 'CUDA' backend", source=_DISPATCHER)),
        ("library/both", f"{_LIBRARY.replace('NAME', 'two')};;library.impl('two', lambda a: a + 1, 'CPU');;library.impl('two', lambda a: a + 1, 'CUDA');;seen['r'] = torch.ops.truth_l.two(x)", on("cuda:0", _DISPATCHER)),
        ("library/any", f"{_LIBRARY.replace('NAME', 'three')};;library.impl('three', lambda a: a + torch.ones_like(a), 'CompositeExplicitAutograd');;seen['r'] = torch.ops.truth_l.three(x)", on("cuda:0", _DISPATCHER)),
        ("library/body-of-the-cpu", f"{_LIBRARY.replace('NAME', 'four')};;library.impl('four', lambda a: a + torch.ones(2), 'CompositeExplicitAutograd');;torch.ops.truth_l.four(x)", mixed(ITERATOR)),
        ("to-mkldnn", "x.to_mkldnn()", _no_kernel("to_mkldnn", "CUDA")),
        ("spdiags", "torch.sparse.spdiags(x, torch.tensor([0, 1]), (2, 2))", _no_kernel("_spdiags", "CUDA")),
        ("sparse-mm-reduce", "torch.sparse.mm(x.to_sparse_csr(), x, 'sum')", _no_kernel("_sparse_mm_reduce_impl", "SparseCsrCUDA")),
        ("quantized-max", "torch.quantize_per_tensor(x, 0.1, 0, torch.quint8).max()", _no_kernel("max", "QuantizedCUDA")),
        ("quantized-cat", "q = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8);;torch.cat([q, q])", _no_kernel("cat.out", "QuantizedCUDA")),
        ("quantized-relu", "seen['r'] = torch.relu(torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)).device", ok(_BUILD, r="cuda:0")),
        ("meta-module", "nn.Linear(2, 2, device='meta').cuda()", raises("NotImplementedError", "Cannot copy out of meta tensor; no data!", source="aten/src/ATen/native/TensorConversions.cpp, _to_copy")),
        ("numpy-from-dlpack", "np.from_dlpack(x)", raises("Exception", "Unsupported device in DLTensor.", source=_DLPACK)),
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
        ("bicubic/backward", "torch._C._nn.upsample_bicubic2d(x, (4, 4), False).sum().backward()", raises("RuntimeError", "upsample_bicubic2d_backward_out_cuda does not have", source=_ALERT)),
        ("bilinear/backward", "F.interpolate(x, scale_factor=2, mode='bilinear').sum().backward();;seen['r'] = x.grad", on("cuda:0", "torch/nn/functional.py, interpolate (takes it apart)")),
        ("pixel-wise-loss/mean", "F.cross_entropy(x, x.detach()[:, 0].long())", raises("RuntimeError", "nll_loss2d_forward_out_cuda_template does not have", source=_ALERT)),
        ("pixel-wise-loss/none", "seen['r'] = F.cross_entropy(x, x.detach()[:, 0].long(), reduction='none')", on("cuda:0", "aten/src/ATen/native/cuda/NLLLoss2d.cu")),
        ("grid-sample/backward", "F.grid_sample(x, torch.zeros(1, 2, 2, 2, device=first), align_corners=False).sum().backward()", raises("RuntimeError", "grid_sampler_2d_backward_cuda does not have", source=_ALERT)),
        ("ctc-loss/backward", "F.ctc_loss(x[0].log_softmax(2), torch.ones(8, 2, dtype=torch.long, device=first), torch.full((8,), 2), torch.full((8,), 1)).backward()", raises("RuntimeError", "ctc_loss_backward_gpu does not have", source=_ALERT)),
        ("median/dim", "x.median(0)", raises("RuntimeError", "median CUDA with indices output does not have", source=_ALERT)),
        ("median/all", "seen['r'] = x.median()", on("cuda:0", _ALERT)),
        ("median/cpu", "seen['r'] = x.cpu().median(0).values", on("cpu", _ALERT)),
        ("median/warn-only", "torch.use_deterministic_algorithms(True, warn_only=True);;seen['r'] = x.median(0).values", on("cuda:0", _ALERT)),
    ),
    setup="torch.use_deterministic_algorithms(True);;x = torch.zeros(1, 2, 8, 8, device=first, requires_grad=True)",
    alone=True,
)

CASES: tuple[Case, ...] = (*GRADIENTS, *KERNELS, *TYPES, *DETERMINISM)
