"""Sparse and nested tensors that are made of dense ones.

Paths are in pytorch/pytorch below aten/src/ATen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torchdevlint.runtime.simulated.operators.checks import Check, agree, common, kernel, same
from torchdevlint.runtime.simulated.operators.schema import Call


def coordinates(release: tuple[int, int]) -> Check:
    """The generated check of a kernel that only exists for sparse tensors, with operands that are not yet sparse."""

    def check(call: Call) -> Any:
        operands = call.of("indices", "values")
        return same(operands, lambda key: kernel(call.schema.base, "", f"Sparse{key}", False, False), release)

    return check


def compressed(call: Call) -> Any:
    """SparseCsrTensorImpl.cpp, `set_member_tensors`: the names are those of the layout."""
    by_column = str(call.named("layout")) in ("torch.sparse_csc", "torch.sparse_bsc")
    (values,) = call.of("values")
    for argument, name in (
        ("compressed_indices", "ccol_indices" if by_column else "crow_indices"),
        ("plain_indices", "row_indices" if by_column else "col_indices"),
    ):
        for indices in call.of(argument):
            agree(values, indices, f"Values and {name} need to be on the same device.")
    return values.device


def nested(release: tuple[int, int]) -> Check:
    """native/nested/NestedTensorUtils.h, `wrap_tensor_node`: a `cat` of the rows; where they are moved is not known."""

    def check(call: Call) -> Any:
        if call.named("device") is not None:
            return common(call.operands())
        rows = [replace(operand, name="tensors") for operand in call.of("list")]
        return same(rows, lambda key: kernel("cat", "", key, True, False), release)

    return check


SPARSE: dict[str, Check] = {
    "sparse_compressed_tensor.comp_plain_value sparse_compressed_tensor.comp_plain_value_size "
    "_sparse_compressed_tensor_unsafe": compressed,
}
SPARSE_BY_RELEASE: dict[str, Callable[[tuple[int, int]], Check]] = {
    "_nested_tensor_from_tensor_list": nested,
    "_sparse_coo_tensor_with_dims_and_tensors": coordinates,
}
