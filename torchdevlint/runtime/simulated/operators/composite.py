"""Checks of functions that autograd takes apart before a dispatch mode sees them (CompositeImplicitAutograd).

Their C++ bodies compare the real devices, which are all the CPU, so what they would have said must be said by whoever
wraps the Python function: ``COMPOSITE[name](args, kwargs, device_of)`` before ``torch.<name>``, the method of the same
name, or ``torch._VF._pad_packed_sequence`` runs. Paths are in pytorch/pytorch below aten/src/ATen/native.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchdevlint.runtime.simulated.operators.checks import agree
from torchdevlint.runtime.simulated.operators.schema import Operand
from torchdevlint.runtime.simulated.operators.special import require_lengths
from torchdevlint.runtime.simulated.operators.texts import mismatch

DeviceOf = Callable[[Any], Any]


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
    """TensorShape.cpp, `meshgrid`."""
    first, *rest = _operands("tensors", args[0] if isinstance(args[0], (list, tuple)) else args, device_of)
    for other in rest:
        agree(first, other, "meshgrid expects all tensors to have the same device")


def _quantile(args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> None:
    """Sorting.cpp, `quantile_checks`."""
    data = _operands("input", _given(args, kwargs, 0, "input"), device_of)
    for q in _operands("q", _given(args, kwargs, 1, "q"), device_of):
        if data:
            agree(data[0], q, "quantile() q tensor must be on the same device as the input tensor")


COMPOSITE: dict[str, Callable[[Sequence[Any], Mapping[str, Any], DeviceOf], None]] = {
    "_pad_packed_sequence": _pad_packed,
    "tensor_split": _tensor_split,
    "meshgrid": _meshgrid,
    "quantile": _quantile,
    "nanquantile": _quantile,
}
