"""What CUDA's autocast does and the CPU's does not: kernels for CPU tensors that claim an accelerator.

The two lists differ: on CUDA `exp`, `softmax`, `sum` and the norms give 32-bit results, on the CPU they keep the lower
precision. For each operator of CUDA's lists that has no kernel of its own at the dispatch key AutocastCPU, one is
registered while it is needed, and taken back with the simulation. Operators of both lists keep the CPU's kernel.
Known gap: so do those of the CPU's list alone (`avg_pool3d`, `quantile`, FFTs), whose results have 32 bits only here.

Lists and policies: aten/src/ATen/autocast_mode.h (AT_FORALL_LOWER_PRECISION_FP, _FP32, _FP32_SET_OPT_DTYPE,
_DIFFERENT_REDISPATCH_SIGNATURE, _PROMOTE); recurrent layers: aten/src/ATen/cudnn/AutocastRNN.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_Kernel = Callable[..., Any]

LOWER = """
    _convolution convolution addmv addr einsum mv chain_matmul linalg_multi_dot lstm_cell gru_cell rnn_tanh_cell
    rnn_relu_cell lstm.input lstm.data gru.input gru.data rnn_tanh.input rnn_tanh.data rnn_relu.input rnn_relu.data
""".split()

FP32 = """
    acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow.Tensor_Scalar pow.Tensor_Tensor
    pow.Scalar softplus layer_norm native_layer_norm rms_norm group_norm frobenius_norm.dim nuclear_norm
    nuclear_norm.dim cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss
    kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss
    triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp
    upsample_nearest1d _upsample_nearest_exact1d upsample_nearest2d _upsample_nearest_exact2d upsample_nearest3d
    _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d
    upsample_bicubic2d _upsample_bicubic2d_aa
""".split()

FP32_RESULT = """
    prod prod.dim_int softmax.int log_softmax.int cumprod cumsum linalg_vector_norm linalg_matrix_norm
    linalg_matrix_norm.str_ord sum sum.dim_IntList
""".split()

# The overload without a `dtype` becomes the one with it.
FP32_OTHER_OVERLOAD = {"norm.Scalar": "norm.ScalarOpt_dtype", "norm.ScalarOpt_dim": "norm.ScalarOpt_dim_dtype"}

PROMOTE = "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add".split()

BANNED = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)


class Policy:
    """The kernels of one simulated kind; `active` says whether its autocast is on in this thread."""

    def __init__(self, kind: str, active: Callable[[], bool], lower: Callable[[], torch.dtype]) -> None:
        self._kind = kind
        self._active = active
        self._lower = lower
        self._library: torch.library.Library | None = None

    def register(self) -> None:
        if self._library is not None:
            return
        self._library = library = torch.library.Library("aten", "IMPL", "AutocastCPU")
        for names, kernel in (
            (LOWER, self._casting(self._lower)),
            (FP32, self._casting(lambda: torch.float32)),
            (FP32_RESULT, self._fp32_result),
            (FP32_OTHER_OVERLOAD, self._fp32_other_overload),
            (PROMOTE, self._promoting),
        ):
            for name in names:
                if _is_free(name):
                    library.impl(name, self._guarded(_overload(name), kernel))

    def take_back(self) -> None:
        if self._library is not None:
            self._library._destroy()
            self._library = None

    def eligible(self, value: object) -> bool:
        """Whether autocast may convert a value: a floating point tensor of the kind, not of 64 bits (`is_eligible`)."""
        return (
            isinstance(value, torch.Tensor)
            and value.is_floating_point()
            and value.dtype is not torch.float64
            and value.device.type == self._kind
        )

    def _guarded(self, op: Any, kernel: _Kernel) -> _Kernel:
        """As in C++: what the operator itself calls is not converted again."""
        below = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)

        def run(*args: Any, **kwargs: Any) -> Any:
            with torch._C._ExcludeDispatchKeyGuard(below):
                return kernel(op, args, kwargs) if self._active() else op(*args, **kwargs)

        return run

    def _cast(self, value: Any, dtype: torch.dtype) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)([self._cast(item, dtype) for item in value])
        if self.eligible(value) and value.dtype is not dtype:
            return value.to(dtype)
        return value

    def _casting(self, dtype: Callable[[], torch.dtype]) -> _Kernel:
        def kernel(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            wanted = dtype()
            named = {name: self._cast(value, wanted) for name, value in kwargs.items()}
            return op(*(self._cast(value, wanted) for value in args), **named)

        return kernel

    def _fp32_result(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.eligible(args[0]):
            place = next(i for i, argument in enumerate(op._schema.arguments) if argument.name == "dtype")
            if len(args) > place:
                if args[place] is None:
                    args = (*args[:place], torch.float32, *args[place + 1 :])
            elif kwargs.get("dtype") is None:
                kwargs = {**kwargs, "dtype": torch.float32}
        return op(*args, **kwargs)

    def _fp32_other_overload(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self.eligible(args[0]):
            return op(*args, **kwargs)
        own = op.name().removeprefix("aten::")
        other = _overload(FP32_OTHER_OVERLOAD[own])
        defaults = {argument.name: argument.default_value for argument in op._schema.arguments[len(args) :]}
        rest = [kwargs.get(name, default) for name, default in defaults.items()]
        return other(*args, *rest, dtype=torch.float32)

    def _promoting(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """To the widest of the types that are there (`promote_type`)."""
        values = [item for value in args for item in (value if isinstance(value, (list, tuple)) else (value,))]
        wide = any(self.eligible(value) and value.dtype is torch.float32 for value in values)
        return op(*(self._cast(value, torch.float32) for value in args), **kwargs) if wide else op(*args, **kwargs)


def _is_free(name: str) -> bool:
    """Whether this PyTorch has the operator, without a kernel for the CPU's autocast."""
    qualified = f"aten::{name}"
    if not torch._C._dispatch_has_kernel(qualified):
        return False
    return not torch._C._dispatch_has_kernel_for_dispatch_key(qualified, "AutocastCPU")


def _overload(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def banned(policy: Policy, active: Callable[[], bool], real: _Kernel) -> _Kernel:
    """`torch._C._nn.binary_cross_entropy`, which the autocast of CUDA and XPU refuses (autocast_mode.cpp)."""

    def binary_cross_entropy(*args: Any, **kwargs: Any) -> Any:
        if args and active() and isinstance(args[0], torch.Tensor) and args[0].device.type == policy._kind:
            raise RuntimeError(BANNED)
        return real(*args, **kwargs)

    return binary_cross_entropy
