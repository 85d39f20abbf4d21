"""Operators whose device rule is neither torchgen's check nor TensorIterator's, each with its source.

Paths are in pytorch/pytorch below aten/src/ATen/native unless they say otherwise. Operators that reach a dispatch
mode only on a CPU, such as `_scaled_dot_product_flash_attention_for_cpu`, have the rule of what runs on a GPU instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from torchdevlint.runtime.simulated.operators import texts
from torchdevlint.runtime.simulated.operators.checks import (
    Check,
    agree,
    common,
    composed,
    delegate,
    dispatch_key,
    first_operand,
    free,
    kernel,
    same,
    strict_iterator,
)
from torchdevlint.runtime.simulated.operators.convolution import CONVOLUTION_BY_RELEASE
from torchdevlint.runtime.simulated.operators.indexing import INDEXING
from torchdevlint.runtime.simulated.operators.outputs import OUTPUTS
from torchdevlint.runtime.simulated.operators.pointwise import POINTWISE, POINTWISE_BY_RELEASE
from torchdevlint.runtime.simulated.operators.schema import Call, Operand
from torchdevlint.runtime.simulated.operators.sparse import SPARSE, SPARSE_BY_RELEASE
from torchdevlint.runtime.simulated.operators.texts import mismatch


def _batch_norm(release: tuple[int, int]) -> Check:
    """Normalization.cpp, `_batch_norm_impl_index`: cuDNN's kernel where it can be used, else PyTorch's.

    cuDNN needs weight and bias, and running statistics or training; for evaluation more than two dimensions.
    """

    def check(call: Call) -> Any:
        operands = call.of("input", "weight", "bias", "running_mean", "running_var")
        names = {operand.name for operand in operands}
        training = bool(call.named("train", call.named("training", False)))
        cudnn = {"weight", "bias"} <= names and (training or operands[0].tensor.dim() > 2)
        base = "cudnn_batch_norm" if cudnn and operands[0].device.type == "cuda" else "native_batch_norm"
        return same(operands, lambda key: kernel(base, "", key, False, False), release)

    return check


def _attention(release: tuple[int, int]) -> Check:
    """transformers/attention.cpp, `validate_sdpa_input`; a mask meets the check of the memory-efficient kernel."""

    def check(call: Call) -> Any:
        query, key, value = call.of("query", "key", "value")
        if not query.device == key.device == value.device:
            other = key if key.device != query.device else value
            raise mismatch(
                "Expected query, key, and value to have the same device type, but got query.device: "
                f"{query.device} key.device: {key.device} and value.device: {value.device} instead.",
                query,
                other,
            )
        masks = [Operand("attn_bias", mask.tensor, mask.device) for mask in call.of("attn_mask")]
        base = "_scaled_dot_product_efficient_attention"
        return same([query, *masks], lambda k: kernel(base, "", k, False, False), release)

    return check


def recurrent(data: Operand, hidden: Iterable[Operand], parameters: Iterable[Operand]) -> None:
    """RNN.cpp, `check_attributes`: what `lstm`, `gru` and `rnn_tanh` ask before they start."""
    for kind, operands in (("hidden", hidden), ("parameter", parameters)):
        for operand in operands:
            agree(
                data,
                operand,
                f"Input and {kind} tensors are not at the same device, found input tensor at {data.device} and "
                f"{kind} tensor at {operand.device}",
            )


def _rnn_layer(call: Call) -> Any:
    (data,) = call.of("input")
    recurrent(data, call.of("hx_", "cx_"), call.of("weight0", "weight1", "weight2", "weight3"))
    return data.device


def require_lengths(lengths: Operand) -> None:
    """PackedSequence.cpp, `checkLongTensor`: of its three demands the one about the device."""
    if lengths.device.type != "cpu":
        raise mismatch(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.tensor.dim()}D {lengths.device} "
            f"{texts.dtype_name(lengths.tensor)} tensor",
            lengths,
        )


def _pack(call: Call) -> Any:
    for lengths in call.of("lengths"):
        require_lengths(lengths)
    return call.of("input")[0].device


def _randint_like(call: Call) -> Any:
    """TensorFactories.cpp, `randint_like` with a tensor."""
    for high in call.of("high"):
        if high.device.type != "cpu":
            raise mismatch("high must be a scalar tensor and on CPU", high)
    return call.of("self")[0].device


def _grid_sampler(release: tuple[int, int]) -> Check:
    """GridSampler.cpp, `grid_sampler`: cuDNN's kernel where it can be used, else PyTorch's; both with torchgen's check.

    MPS has no such check, but `check_grid_sampler_common` of GridSamplerUtils.h.
    """

    def check(call: Call) -> Any:
        operands = call.of("input", "grid")
        data, grid = operands
        if common(operands).type == "mps":
            text = "grid_sampler(): expected input and grid to be on same device, but input is on "
            agree(data, grid, f"{text}{data.device} and grid is on {grid.device}")
        plain = not call.named("interpolation_mode") and not call.named("padding_mode") and call.named("align_corners")
        on_gpu = {data.device.type, grid.device.type} == {"cuda"}
        if plain and on_gpu and data.tensor.dim() == 4 and data.tensor.size(1) <= 1024:
            base, operands = "cudnn_grid_sampler", [replace(data, name="self"), grid]
        else:
            base = f"grid_sampler_{data.tensor.dim() - 2}d"
        return same(operands, lambda key: kernel(base, "", key, False, False), release)

    return check


def _weight_norm(call: Call) -> Any:
    """WeightNorm.cpp, `_weight_norm`."""
    (v,) = call.of("v")
    (g,) = call.of("g")
    agree(
        v,
        g,
        f"weight_norm: expected v_in and g_in to be on the same device, but v_in is on {v.device} and g_in is on "
        f"{g.device}",
    )
    return v.device


def _block_diag(call: Call) -> Any:
    """TensorShape.cpp, `block_diag`."""
    operands = call.operands()
    for number, operand in enumerate(operands):
        agree(
            operands[0],
            operand,
            "torch.block_diag: input tensors must all be on the same device. Input 0 is on device "
            f"{operands[0].device} and input {number} is on device {operand.device}",
        )
    return free(call)


def _euclidean(release: tuple[int, int]) -> Check:
    """Distance.cpp, `_euclidean_dist`: ends in a product of matrices."""

    def check(call: Call) -> Any:
        (left,) = call.of("x1")
        (right,) = call.of("x2")
        base = "mm" if max(left.tensor.dim(), right.tensor.dim()) == 2 else "bmm"
        operands = [replace(left, name="self"), replace(right, name="mat2")]
        return same(operands, lambda key: kernel(base, "", key, True, False), release)

    return check


def _tensor_lr(call: Call) -> Any:
    """cuda/FusedAdamKernel.cu and its likes: a CPU `lr` is read and nothing but the lists is looked at.

    A step on another device is not noticed by any check, so nothing is said of it.
    """
    (lr,) = call.of("lr")
    names = [name for name in ("self", "grads", "exp_avgs", "exp_avg_sqs") if name in call.schema.names]
    lists = call.of(*names)
    if lr.device.type != "cpu":
        for operand in call.of("grad_scale", "found_inf", "lr"):
            agree(lists[0], operand, f"{operand.name} must be on the same GPU device as the params")
    for operand in lists:
        agree(lists[0], operand, "params, grads, exp_avgs, and exp_avg_sqs must have same dtype, device, and layout")
    return lists[0].device


def _segment_reduce(call: Call) -> Any:
    """SegmentReduce.cpp, `segment_reduce_kernel`: a check without a text of its own (c10/util/Exception.h)."""
    (data,) = call.of("data")
    for operand in call.of("offsets", "lengths"):
        agree(
            data,
            operand,
            f"Expected data.get_device() == {operand.name}_value.get_device() to be true, but got false.  (Could this "
            "error message be improved?  If so, please report an enhancement request to PyTorch.)",
        )
    return data.device


def _mode(call: Call) -> Any:
    """ReduceOps.cpp, `mode_out`."""
    (data,) = call.of("self")
    for out in call.of("values", "indices"):
        agree(data, out, f"expected device '{data.device}' but got '{out.device}' for {out.name} output")
    return data.device


def _trilinear(call: Call) -> Any:
    """Linear.cpp, `_trilinear`: nothing is computed where there is nothing."""
    operands = call.operands()
    return composed(call) if all(operand.tensor.numel() for operand in operands) else operands[0].device


def no_kernel(call: Call) -> Any:
    """No CUDA kernel, while MPS has one (aten/src/ATen/core/dispatch/OperatorEntry.cpp, `reportError`)."""
    operands = call.operands()
    device = common(operands)
    if device is None or device.type != "cuda":
        return device
    text = texts.without_kernel(f"{call.schema.namespace}::{call.schema.name}", dispatch_key(operands))
    raise mismatch(text, *operands, kind=NotImplementedError)


_PLAIN: dict[str, Check] = {
    **INDEXING,
    **SPARSE,
    **POINTWISE,
    **OUTPUTS,
    "mkldnn_rnn_layer": _rnn_layer,
    "_pack_padded_sequence": _pack,
    "randint_like.Tensor randint_like.Tensor_generator": _randint_like,
    "_weight_norm_interface": _weight_norm,
    "block_diag": _block_diag,
    "segment_reduce": _segment_reduce,
    "mode.values": _mode,
    "_fused_adam_.tensor_lr _fused_adamw_.tensor_lr": _tensor_lr,
    "_fused_sgd_.tensor_lr _fused_adagrad_.tensor_lr": first_operand,
    "histogram.bin_ct histogram.bins_tensor _histogramdd_bin_edges _histogramdd_from_bin_cts "
    "_histogramdd_from_bin_tensors to_mkldnn _spdiags _sparse_mm_reduce_impl quantize_per_tensor.tensors "
    "narrow_copy.out": no_kernel,
    # LossCTC.cpp, `ctc_loss`: targets and lengths are moved before the kernel that is seen here.
    "_ctc_loss _ctc_loss.Tensor _ctc_loss_backward _ctc_loss_backward.Tensor": first_operand,
    # Copy.cpp: devices are crossed. cuda/DistributionTemplates.h, `bernoulli_kernel`: probabilities are moved.
    "copy_ copy _to_copy bernoulli_.Tensor bernoulli.Tensor bernoulli.out resize_as_ resize_as resize_ "
    "_new_zeros_with_same_feature_meta slice_inverse slice_scatter select_scatter diagonal_scatter "
    "as_strided_scatter": first_operand,
    # Composites of element-wise operators: Loss.cpp, Distance.cpp, BinaryOps.cpp.
    "soft_margin_loss_backward huber_loss_backward smooth_l1_loss_backward dist allclose ldexp.Tensor ldexp_ "
    "logical_and_ logical_or_ logical_xor_": composed,
    "_trilinear": _trilinear,
    # ComplexHelper.h and Distributions.cpp build iterators without `allow_cpu_scalars`.
    "complex complex.out polar polar.out binomial": strict_iterator,
}

# native_functions.yaml, CompositeExplicitAutograd kernels that end in one checked kernel: TensorShape.cpp (stack),
# Embedding.cpp, LinearAlgebra.cpp, BatchLinearAlgebra.cpp, TensorAdvancedIndexing.cpp, ConvolutionTBC.cpp (which
# copies the bias).
_DELEGATES: dict[str, tuple[str, str, bool, tuple[tuple[str, str], ...]]] = {
    "stack": ("cat", "", True, (("tensors", "tensors"),)),
    "_stack": ("cat", "", True, (("tensors", "tensors"),)),
    "stack.out": ("cat", "out", True, (("out", "out"), ("tensors", "tensors"))),
    "embedding": ("index_select", "", False, (("weight", "self"), ("indices", "index"))),
    "_sparse_addmm": ("addmm", "", True, (("self", "self"), ("mat1", "mat1"), ("mat2", "mat2"))),
    # nested/NestedTensorMatmul.cpp: nested tensors alone get here, others are taken apart before
    "linear": ("addmm", "", True, (("bias", "self"), ("input", "mat1"), ("weight", "mat2"))),
    "conv_tbc": ("addmm_", "", True, (("self", "self"), ("weight", "mat2"))),
    "linalg_lstsq": ("linalg_lstsq", "out", False, (("self", "out"), ("self", "self"), ("b", "b"))),
    "mv": ("addmv", "out", True, (("vec", "out"), ("self", "mat"))),
    "mv.out": ("addmv", "out", True, (("out", "out"), ("self", "mat"), ("vec", "vec"))),
    "masked_scatter": ("masked_scatter_", "", False, (("self", "self"), ("mask", "mask"), ("source", "source"))),
    "put": ("put_", "", False, (("self", "self"), ("index", "index"), ("source", "source"))),
    "addr_": ("addr", "out", False, (("self", "out"), ("vec1", "vec1"), ("vec2", "vec2"))),
}

_BY_RELEASE: dict[str, Callable[[tuple[int, int]], Check]] = {
    "_euclidean_dist": _euclidean,
    **SPARSE_BY_RELEASE,
    **CONVOLUTION_BY_RELEASE,
    "grid_sampler_2d grid_sampler_3d _grid_sampler_2d_cpu_fallback": _grid_sampler,
    "native_batch_norm _native_batch_norm_legit _batch_norm_with_update _batch_norm_no_update "
    "_native_batch_norm_legit_functional _native_batch_norm_legit_no_training": _batch_norm,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    **POINTWISE_BY_RELEASE,
}


def special_checks(release: tuple[int, int]) -> dict[str, Check]:
    """The check of each overload in this module, by its name."""
    found = {name: check for names, check in _PLAIN.items() for name in names.split()}
    for names, make in _BY_RELEASE.items():
        check = make(release)
        found.update(dict.fromkeys(names.split(), check))
    for name, (base, overload, structured, arguments) in _DELEGATES.items():
        found[name] = delegate(base, overload, structured, arguments, release)
    return found
