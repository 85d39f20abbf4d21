"""Indexing, masking and filling: operators that move some of their operands, and refuse others.

Paths are in pytorch/pytorch below aten/src/ATen/native.
"""

from __future__ import annotations

from typing import Any

from torchdevlint.runtime.simulated.operators import texts
from torchdevlint.runtime.simulated.operators.checks import Check, agree, common, iterate
from torchdevlint.runtime.simulated.operators.schema import Call, Operand
from torchdevlint.runtime.simulated.operators.texts import mismatch

MASKS = ("torch.bool", "torch.uint8")


def index(call: Call) -> Any:
    """TensorAdvancedIndexing.cpp, `check_indices_on_cpu_or_selfdevice`, in the meta function of `index`."""
    (table,) = call.of("self")
    for index in call.of("indices"):
        if index.device.type != "cpu":
            text = f"indices should be either on cpu or on the same device as the indexed tensor ({table.device})"
            agree(table, index, text)
    for out in call.of("out"):
        if out.device != table.device:
            raise texts.iterator(table, out)
    return table.device


def index_put(call: Call) -> Any:
    """TensorAdvancedIndexing.cpp, `_index_put_impl_`: indices are moved to the tensor, and a 0-dimensional value.

    A CPU value of one element under one mask becomes `masked_fill_` (`canDispatchToMaskedFill`). With
    ``accumulate=True`` the CUDA kernel that sorts has a text of its own.
    """
    (table,) = call.of("self")
    (value,) = call.of("values")
    if value.device == table.device or value.tensor.dim() == 0:
        return table.device
    accumulate = bool(call.named("accumulate", False))
    if not accumulate and value.device.type == "cpu" and value.tensor.numel() == 1:
        indices = call.of("indices")
        if len(indices) == 1 and _is_mask(indices[0]) and indices[0].device == table.device:
            return table.device
    if accumulate and table.device.type == "cuda":
        text = f"expected device {table.device} but got device {value.device} for value tensor"
        raise mismatch(text, table, value)
    return iterate([table], [value], scalars=0)


def _is_mask(operand: Operand) -> bool:
    return str(operand.tensor.dtype) in MASKS


def masked_fill(call: Call) -> Any:
    """cuda/Indexing.cu, `masked_fill__cuda`: the value is read with `.item()`, so it may be anywhere."""
    (table,) = call.of("self")
    (mask,) = call.of("mask")
    values = call.of("value")
    for other in (mask, *values) if values and table.device.type == "cpu" else ():
        agree(table, other, "masked_fill_: Expected inputs to be on same device")
    text = f"expected self and mask to be on the same device, but got mask on {mask.device} and self on {table.device}"
    agree(table, mask, text)
    return table.device


def index_fill(call: Call) -> Any:
    """TensorAdvancedIndexing.cpp, `index_fill_`: an iterator over the tensor and the index; a value is `.item()`."""
    tables = call.of("self")
    iterate(tables, call.of("index"), scalars=0)
    return tables[0].device


def where(call: Call) -> Any:
    """TensorCompare.cpp, `where_self_out`: 0-dimensional tensors are moved, those on another accelerator too."""
    inputs = call.of("condition", "self", "other")
    device = common(inputs)
    if device is None or (device.type == "cpu" and not any(operand.tensor.dim() for operand in inputs)):
        return device
    inputs = [operand for operand in inputs if operand.tensor.dim() > 0 or operand.device == device]
    return iterate(call.of("out"), inputs, scalars=0)


def fill(call: Call) -> Any:
    """Fill.cpp, `fill_`: the value is 0-dimensional and read with `.item()` or copied."""
    return call.of("self")[0].device


def set_source(call: Call) -> Any:
    """Resize.h, `checkSetStorage`."""
    (table,) = call.of("self")
    (source,) = call.of("source")
    agree(table, source, storage_elsewhere(table.device, source.device))
    return table.device


def storage_elsewhere(own: Any, given: Any) -> str:
    """What `checkSetStorage` says."""
    return (
        f'Attempted to set the storage of a tensor on device "{own}" to a storage on different device "{given}".  '
        "This is no longer allowed; the devices must match."
    )


INDEXING: dict[str, Check] = {
    "index.Tensor index.Tensor_out _unsafe_index.Tensor": index,
    "index_put index_put_ _index_put_impl_ _index_put_impl _unsafe_index_put": index_put,
    "masked_fill.Scalar masked_fill.Tensor masked_fill_.Scalar masked_fill_.Tensor": masked_fill,
    "index_fill.int_Scalar index_fill.int_Tensor index_fill_.int_Scalar index_fill_.int_Tensor": index_fill,
    "where.self where.self_out": where,
    "fill.Tensor fill_.Tensor": fill,
    "set_.source_Tensor set.source_Tensor": set_source,
}
