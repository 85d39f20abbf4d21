"""What an accelerator refuses although no two operands meet: gradients, operators without a kernel, other libraries."""

# ruff: noqa: E501 (one row, one line)
# fmt: off
from __future__ import annotations

from benchmarks.truth.case import Case, ok, raises, rows
from benchmarks.truth.sources import ENGINE, NUMPY, on

_HOOK = "torch/csrc/autograd/custom_function.cpp, check_variable_result"
_DISPATCHER = "aten/src/ATen/core/dispatch/OperatorEntry.cpp, reportError"
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

CASES: tuple[Case, ...] = (*GRADIENTS, *KERNELS)
