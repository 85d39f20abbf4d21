"""Operators of other namespaces than `aten` whose demands on devices are known: those of torchvision and `quantized`.

They go by their names, so that what is checked does not depend on which library has registered them.
"""

from __future__ import annotations

from torchdevlint.runtime.simulated.operators.checks import Check, common
from torchdevlint.runtime.simulated.operators.schema import Call, Operand
from torchdevlint.runtime.simulated.operators.special import no_kernel
from torchdevlint.runtime.simulated.operators.texts import mismatch

_DENSE_AND_DYNAMIC = """
    linear_dynamic linear_relu_dynamic linear_dynamic_fp16 linear_relu_dynamic_fp16 linear_dynamic_fp16_unpacked_weight
    conv1d_dynamic conv2d_dynamic conv3d_dynamic conv_transpose1d_dynamic conv_transpose2d_dynamic
    conv_transpose3d_dynamic quantized_lstm_cell_dynamic quantized_gru_cell_dynamic quantized_rnn_relu_cell_dynamic
    quantized_rnn_tanh_cell_dynamic embedding_byte embedding_4bit embedding_bag_byte embedding_bag_4bit
""".split()
"""Of `quantized`, what takes tensors that are not quantized. The builds for CUDA of 2.4, 2.9, 2.14 and 2.15 have no
kernel of it for CUDA (`torch._C._dispatch_has_kernel_for_dispatch_key`); of the rest some have one for quantized
tensors, of which nothing is said here."""


def _on_cuda(*names: str, method: str = "") -> Check:
    """csrc/ops/cuda of pytorch/vision: each of the operands has to be on a GPU, and with a `method` on the same."""

    def check(call: Call) -> object:
        operands = call.of(*names)
        device = common(operands)
        if device is None or device.type != "cuda":
            return device
        for operand in operands:
            if operand.device.type != "cuda":
                leader = next(other for other in operands if other.device == device)
                raise mismatch(f"{operand.name} must be a CUDA tensor", leader, operand)
        if method:
            _same_gpu(operands, method)
        return device

    return check


def _same_gpu(operands: list[Operand], method: str) -> None:
    """aten/src/ATen/TensorUtils.cpp, `checkSameGPU`, by `checkAllSameGPU`."""
    first = operands[0]
    for number, other in enumerate(operands[1:], 2):
        if other.device != first.device:
            raise mismatch(
                f"Expected tensor for argument #1 '{first.name}' to have the same device as tensor for argument "
                f"#{number} '{other.name}'; but device {first.device.index} does not equal {other.device.index} "
                f"(while checking arguments for {method})",
                first,
                other,
            )


LIBRARIES: dict[str, Check] = {
    **{f"quantized::{name}": no_kernel for name in _DENSE_AND_DYNAMIC},
    "torchvision::nms": _on_cuda("dets", "scores"),
    "torchvision::roi_align": _on_cuda("input", "rois", method="roi_align_forward_kernel"),
    "torchvision::roi_pool": _on_cuda("input", "rois", method="roi_pool_forward_kernel"),
    "torchvision::ps_roi_align": _on_cuda("input", "rois", method="ps_roi_align_forward_kernel"),
    "torchvision::ps_roi_pool": _on_cuda("input", "rois", method="ps_roi_pool_forward_kernel"),
}
