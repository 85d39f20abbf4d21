"""The texts of PyTorch's device errors, and the one function that makes the exceptions.

The generated device check changed its text in 2.8 (aten/src/ATen/core/op_registration/adaption.cpp; read from the
libraries of the releases 2.4 to 2.13, and seen in 2.15). TensorIterator's text is the same in all of them.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from torchdevlint.runtime.simulated.operators.schema import Operand

OPERANDS = "torchdevlint_operands"

NEW_CHECK_TEXT = (2, 8)
CPU_SCALARS_IN_ADDCMUL = (2, 7)
HYPOT_WITHOUT_CHECK = (2, 10)
SCALED_IS_STRUCTURED = (2, 14)
MSE_LOSS_ASKS = (2, 8)


def release_of(version: str) -> tuple[int, int]:
    """``(2, 13)`` of ``2.13.0+cpu``."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return (int(numbers[1]), int(numbers[2])) if numbers else (2, 13)


@functools.cache
def installed() -> tuple[int, int]:
    """The release of torch that is imported here."""
    import torch

    return release_of(torch.__version__)


def mismatch(text: str, *operands: Operand, kind: type[Exception] = RuntimeError) -> Exception:
    """The exception PyTorch raises, with the operands at fault in its attribute `OPERANDS`."""
    error = kind(text)
    setattr(error, OPERANDS, operands)
    return error


def generated(first: Operand, other: Operand, method: str, release: tuple[int, int]) -> Exception:
    """The check that torchgen writes into each kernel (`gen_device_check` of register_dispatch_key.py)."""
    if release >= NEW_CHECK_TEXT:
        text = (
            f"Expected all tensors to be on the same device, but got {other.name} is on {other.device}, different "
            f"from other tensors on {first.device} (when checking argument in method {method})"
        )
    else:
        text = (
            f"Expected all tensors to be on the same device, but found at least two devices, {first.device} and "
            f"{other.device}! (when checking argument for argument {other.name} in method {method})"
        )
    return mismatch(text, first, other)


def placeholder(first: Operand, other: Operand) -> Exception:
    """MPS kernels have no generated check; the graph finds out (native/mps/OperationUtils.mm, `Placeholder`)."""
    return mismatch("Placeholder storage has not been allocated on MPS device!", first, other)


def iterator(first: Operand, other: Operand) -> Exception:
    """`TensorIteratorBase::compute_types`: the first accelerator, then the operand that is elsewhere."""
    text = f"Expected all tensors to be on the same device, but found at least two devices, {first.device} and "
    return mismatch(f"{text}{other.device}!", first, other)


def too_many_scalars(*operands: Operand) -> Exception:
    return mismatch("Trying to pass too many CPU scalars to non-CPU kernel!", *operands)


def wrong_out(common: Operand, out: Operand) -> Exception:
    """`resize_out` of structured kernels, and `copy_arg` of generated out= variants (torchgen)."""
    text = f"Expected out tensor to have device {common.device}, but got {out.device} instead"
    return mismatch(text, common, out)


def without_kernel(operator: str, key: str) -> str:
    """The dispatcher's, up to where it lists the backends (aten/src/ATen/core/dispatch/OperatorEntry.cpp)."""
    return (
        f"Could not run '{operator}' with arguments from the '{key}' backend. This could be because the operator "
        "doesn't exist for this backend, or was omitted during the selective/custom build process (if using custom "
        "build). If you are a Facebook employee using PyTorch on mobile, please visit https://fburl.com/ptmfixes for "
        "possible resolutions."
    )


def wrong_generator(expected: Any, found: Any) -> Exception:
    """`check_generator` of aten/src/ATen/core/Generator.h."""
    return mismatch(f"Expected a '{expected.type}' device type for generator but found '{found.type}'")


_DTYPES = {
    "float64": "Double", "float32": "Float", "float16": "Half", "bfloat16": "BFloat16", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte",
    "bool": "Bool",
}  # fmt: skip


def dtype_name(tensor: Any) -> str:
    """The C++ name of a tensor's `ScalarType`."""
    name = str(tensor.dtype).removeprefix("torch.")
    return _DTYPES.get(name, name.capitalize())


def type_name(operand: Operand) -> str:
    """`Tensor::toString`: ``torch.cuda.FloatTensor``, and ``MPSFloatType`` where there is no such Python type."""
    device, kind = operand.device.type, dtype_name(operand.tensor)
    if device == "cpu":
        return f"torch.{kind}Tensor"
    return f"torch.cuda.{kind}Tensor" if device == "cuda" else f"{device.upper()}{kind}Type"
