"""Checks of functions that autograd takes apart before a dispatch mode sees them (CompositeImplicitAutograd).

Their C++ bodies compare the real devices, which are all the CPU, so what they would have said must be said by whoever
wraps the Python function: ``COMPOSITE[name](args, kwargs, device_of)`` before ``torch.<name>``, the method of the same
name, or ``torch._VF._pad_packed_sequence`` runs. Paths are in pytorch/pytorch below aten/src/ATen/native.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchdevlint.runtime.simulated.operators.checks import agree, iterate
from torchdevlint.runtime.simulated.operators.schema import Operand
from torchdevlint.runtime.simulated.operators.special import require_lengths
from torchdevlint.runtime.simulated.operators.texts import mismatch

DeviceOf = Callable[[Any], Any]
Check = Callable[[Sequence[Any], Mapping[str, Any], DeviceOf], None]


def _operands(name: str, value: Any, device_of: DeviceOf) -> list[Operand]:
    values = value if isinstance(value, (list, tuple)) else (value,)
    return [Operand(name, tensor, device_of(tensor)) for tensor in values if hasattr(tensor, "dim")]


def _given(args: Sequence[Any], kwargs: Mapping[str, Any], index: int, name: str) -> Any:
    return args[index] if index < len(args) else kwargs.get(name)


def _pad_packed(args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> None:
    """PackedSequence.cpp, `checkLongTensor`."""
    for sizes in _operands("batch_sizes", _given(args, kwargs, 1, "batch_sizes"), device_of):
        require_lengths(sizes)


def _tensor_split(args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> None:
    """TensorShape.cpp, `tensor_split`."""
    for name in ("indices_or_sections", "tensor_indices_or_sections"):
        for indices in _operands(name, _given(args, kwargs, 1, name), device_of):
            if indices.device.type != "cpu":
                text = f"tensor_split expected tensor_indices_or_sections to be on cpu, but it's on {indices.device}"
                raise mismatch(text, indices)


def _meshgrid(args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> None:
    """TensorShape.cpp, `meshgrid`, which `cartesian_prod` begins with (Itertools.cpp)."""
    first, *rest = _operands("tensors", args[0] if isinstance(args[0], (list, tuple)) else args, device_of)
    for other in rest:
        agree(first, other, "meshgrid expects all tensors to have the same device")


def _quantile(args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> None:
    """Sorting.cpp, `quantile_checks`."""
    data = _operands("input", _given(args, kwargs, 0, "input"), device_of)
    for q in _operands("q", _given(args, kwargs, 1, "q"), device_of):
        if data:
            agree(data[0], q, "quantile() q tensor must be on the same device as the input tensor")
    for out in _operands("out", kwargs.get("out"), device_of):
        if data:
            agree(data[0], out, "quantile() out tensor must be on the same device as the input tensor")


def _tensordot(args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> None:
    """Linear.cpp, `tensordot_out`, after the product has been made."""
    (a,) = _operands("a", _given(args, kwargs, 0, "a"), device_of)
    (b,) = _operands("b", _given(args, kwargs, 1, "b"), device_of)
    for out in _operands("out", kwargs.get("out"), device_of):
        if out.device != a.device == b.device:
            text = "tensordot: Expected the output and input tensors to be on the same device, but got the output "
            text += f"tensor on {out.device}, input tensor a on {a.device}, and input tensor b on {b.device}"
            raise mismatch(text, out, a)


def _inner(args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> None:
    """LinearAlgebra.cpp, `inner`, and aten/src/ATen/TensorUtils.cpp, `checkDeviceType`: scalars are no exception."""
    (first,) = _operands("input", _given(args, kwargs, 0, "input"), device_of)
    others = _operands("out", kwargs.get("out"), device_of)
    for other in (*others, *_operands("other", _given(args, kwargs, 1, "other"), device_of)):
        if other.device.type != first.device.type:
            text = f"Expected tensor to have {first.device.type} DeviceType, but got tensor with {other.device.type} "
            raise mismatch(f"{text}DeviceType (while checking arguments for inner())", first, other)


def _same_as_result(name: str, swapped: bool = False) -> Check:
    """LinearAlgebraUtils.h, `checkSameDevice`; some callers give it the two in the other order."""

    def check(args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> None:
        data = _operands("input", args[0] if args else kwargs.get("A", kwargs.get("input")), device_of)
        for out in _operands("result", kwargs.get("out"), device_of):
            for one in data:
                first, second = (one, out) if swapped else (out, one)
                text = f"{name}: Expected result and input tensors to be on the same device, but got result on "
                agree(one, out, f"{text}{first.device} and input on {second.device}")

    return check


def _multi_dot(args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> None:
    """LinearAlgebra.cpp, `multi_dot_impl`."""
    first, *rest = _operands("tensors", _given(args, kwargs, 0, "tensors"), device_of)
    for number, other in enumerate(rest, 1):
        text = f"multi_dot(): all tensors must be on the same device but tensor 0 is on {first.device} and tensor "
        agree(first, other, f"{text}{number} on {other.device}")
    for out in _operands("out", kwargs.get("out"), device_of):
        agree(first, out, f"multi_dot(): expected out tensor to be on device {first.device} but got {out.device}")


def _diff(args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> None:
    """ReduceOps.cpp, `diff_out`."""
    (data,) = _operands("input", _given(args, kwargs, 0, "input"), device_of)
    for out in _operands("out", kwargs.get("out"), device_of):
        agree(data, out, f"expected device {data.device} but found {out.device}")


def _ndtr(args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> None:
    """UnaryOps.cpp, `special_ndtr_out`: its last step is an iterator."""
    inputs = _operands("input", _given(args, kwargs, 0, "input"), device_of)
    iterate(_operands("out", kwargs.get("out"), device_of), inputs, scalars=0)


def _take_along_dim(args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> None:
    """TensorAdvancedIndexing.cpp, `checkDevice`: scalars are no exception, and ordinals count."""
    (first,) = _operands("input", _given(args, kwargs, 0, "input"), device_of)
    others = _operands("indices", _given(args, kwargs, 1, "indices"), device_of)
    for other in (*others, *_operands("out", kwargs.get("out"), device_of)):
        text = f"Expected tensor to have {first.device} Device, but got tensor with {other.device} Device "
        agree(first, other, f"{text}(while checking arguments for torch.take_along_dim():)")


COMPOSITE: dict[str, Check] = {
    "_pad_packed_sequence": _pad_packed,
    "tensor_split": _tensor_split,
    "meshgrid": _meshgrid,
    "cartesian_prod": _meshgrid,
    "take_along_dim": _take_along_dim,
    "quantile": _quantile,
    "nanquantile": _quantile,
    "tensordot": _tensordot,
    "inner": _inner,
    "diff": _diff,
    "special.ndtr": _ndtr,
    "linalg.multi_dot": _multi_dot,
    "linalg.matrix_power": _same_as_result("matrix_power"),
    "linalg.tensorinv": _same_as_result("tensorinv"),
    "linalg.tensorsolve": _same_as_result("tensorsolve"),
    "linalg.vecdot": _same_as_result("linalg.vecdot", swapped=True),
    "linalg.cond": _same_as_result("linalg.cond"),
    "linalg.matrix_norm": _same_as_result("linalg.matrix_norm", swapped=True),
    "linalg.matrix_rank": _same_as_result("torch.linalg.matrix_rank"),
    "linalg.norm": _same_as_result("linalg.norm", swapped=True),
    "linalg.pinv": _same_as_result("linalg.pinv"),
}
