"""Element-wise operators whose kernel takes fewer CPU scalars than their iterator lets pass.

A 0-dimensional CPU tensor gets through TensorIterator with `allow_cpu_scalars`. What becomes of it is up to the kernel:
`gpu_kernel_with_scalars` takes it out as a number, `gpu_kernel` fails with an assertion. Paths are in pytorch/pytorch
below aten/src/ATen/native.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torchdevlint.runtime.simulated.errors import line_in_header
from torchdevlint.runtime.simulated.operators import texts
from torchdevlint.runtime.simulated.operators.checks import Check, iterate, iterator, strict_iterator, written_and_read
from torchdevlint.runtime.simulated.operators.schema import Call, Operand
from torchdevlint.runtime.simulated.operators.texts import mismatch

_LOOPS = {
    "cuda": "/pytorch/aten/src/ATen/native/cuda/Loops.cuh",
    "xpu": "/pytorch/third_party/torch-xpu-ops/src/ATen/native/xpu/sycl/Loops.h",
}


def _addcmul(release: tuple[int, int]) -> Check:
    """PointwiseOps.cpp and cuda/PointwiseOpsKernel.cu: of the inputs only `tensor2` may be a CPU scalar."""

    def check(call: Call) -> Any:
        if release < texts.CPU_SCALARS_IN_ADDCMUL:
            # The release that allowed it is not known for sure, so a CPU scalar as tensor2 is never refused.
            ordered = call.of("out", "self", "tensor1")
            outputs = [operand for operand in ordered if operand.written]
            rest = [operand for operand in call.of("tensor2") if not operand.cpu_scalar]
            return iterate(outputs, [*(operand for operand in ordered if not operand.out), *rest], scalars=0)
        outputs = [operand for operand in call.of("out", "self") if operand.written]
        device = iterate(outputs, call.of("self", "tensor1", "tensor2"))
        if device is None or device.type == "cpu":
            return device
        for operand in call.of("self", "tensor1"):
            if operand.cpu_scalar:
                text = f"CPU Scalar support for {operand.name} argument is not supported when calling addcmul on "
                advice = ""
                if operand.name == "tensor1":
                    advice = (
                        " However, CPU Scalar support for tensor2 is supported, please swap your tensor1 and tensor2"
                        " terms."
                    )
                leader = next(other for other in call.operands() if other.device == device)
                raise mismatch(f"{text}CUDA tensors.{advice}", leader, operand)
        return device

    return check


def _without_scalars(call: Call, *numbers: str) -> Any:
    """cuda/Loops.cuh, `gpu_kernel`: every operand is on the accelerator, but those that the kernel reads as `numbers`.

    It counts the output and then the inputs. Kernels of MPS copy a CPU scalar to where they need it.
    """
    device = iterator(call)
    if device is None or device.type not in _LOOPS:
        return device
    inputs = written_and_read(call)[1]
    for position, operand in enumerate(inputs, 1):
        if operand.device.type == "cpu" and operand.name not in numbers:
            raise mismatch(_assertion(device.type, position), _first_on(device, inputs), operand)
    return device


def _first_on(device: Any, operands: list[Operand]) -> Operand:
    return next(operand for operand in operands if operand.device == device)


def _assertion(kind: str, position: int) -> str:
    """TORCH_INTERNAL_ASSERT; which line it is on is known of the header that a wheel carries."""
    path = _LOOPS[kind]
    line = line_in_header("void gpu_kernel(", "TORCH_INTERNAL_ASSERT", path[path.index("ATen/") :]) or 109
    return (
        f'iter.device(arg).is_{kind}() INTERNAL ASSERT FAILED at "{path}":{line}, please report a bug to PyTorch. '
        f"argument {position}: expected a {kind.upper()} device but found cpu"
    )


def _lerp(call: Call) -> Any:
    """cuda/Lerp.cu, `lerp_tensor_kernel`: of the inputs only `weight` may be a CPU scalar."""
    return _without_scalars(call, "weight")


def _clamp(call: Call) -> Any:
    """TensorCompare.cpp, `clamp.Tensor_out`: one bound is for `maximum` or `minimum`, which take a scalar."""
    return strict_iterator(call) if len(call.of("min", "max")) > 1 else iterator(call)


def _mse_loss(release: tuple[int, int]) -> Check:
    """Loss.cpp, `mse_loss_out`: since 2.8 it asks itself, after the iterator, and lets no CPU scalar pass."""

    def check(call: Call) -> Any:
        if release < texts.MSE_LOSS_ASKS:
            return _without_scalars(call)
        device = iterator(call)
        data, target = call.of("self", "target")
        if data.device != target.device:
            raise texts.iterator(data, target)
        return device

    return check


def _made_like(name: str) -> Check:
    """The result is made like the operand `name`, and the others are taken into it, each a CPU scalar if it wants.

    Loss.cpp, BinaryOps.cpp (`comparison_op`).
    """

    def check(call: Call) -> Any:
        (first,) = call.of(name)
        inputs = written_and_read(call)[1]
        return iterate([replace(first, written=True)], inputs, len(inputs))

    return check


def _binary_cross_entropy(call: Call) -> Any:
    """cuda/Loss.cu, `binary_cross_entropy_out_cuda`: an iterator without scalars, then a product with `weight`.

    The loss is made like the input before.
    """
    data, target = call.of("self", "target")
    losses = call.of("out") or [replace(data, name="out", out=True, written=True)]
    iterate(losses, [data, target], scalars=0)
    return iterate(losses, [*losses, *call.of("weight")])


POINTWISE: dict[str, Check] = {
    "lerp.Scalar lerp.Scalar_out lerp_.Scalar": _without_scalars,
    "lerp.Tensor lerp.Tensor_out lerp_.Tensor": _lerp,
    "clamp.Tensor_out": _clamp,
    "smooth_l1_loss smooth_l1_loss.out": _without_scalars,
    # PointwiseOps.cpp, ReduceOps.cpp (`std_var_out`), UnaryOps.cpp, Activation.cpp: no CPU scalars
    "addcdiv addcdiv_ addcdiv.out std.correction_out var.correction_out angle.out log_sigmoid_forward.output": (
        strict_iterator
    ),
    "logical_and logical_or logical_xor soft_margin_loss": _made_like("self"),
    "binary_cross_entropy_with_logits": _made_like("target"),
    "binary_cross_entropy binary_cross_entropy.out": _binary_cross_entropy,
}
POINTWISE_BY_RELEASE: dict[str, Callable[[tuple[int, int]], Check]] = {
    "addcmul addcmul_ addcmul.out": _addcmul,
    "mse_loss mse_loss.out": _mse_loss,
}
