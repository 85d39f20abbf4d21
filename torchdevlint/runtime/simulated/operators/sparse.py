"""Sparse and nested tensors that are made of dense ones.

Paths are in pytorch/pytorch below aten/src/ATen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torchdevlint.runtime.simulated.operators.checks import Check, agree, common, iterator, kernel, same
from torchdevlint.runtime.simulated.operators.schema import Call, Operand
from torchdevlint.runtime.simulated.operators.texts import mismatch


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


def add(call: Call) -> Any:
    """native/sparse/cuda/SparseCUDATensorMath.cu: `add_out_sparse_cuda`, and `add_out_dense_sparse_cuda`.

    The second names what is dense 'self', whichever side it was on (SparseTensorMath.cpp, `add_sparse`).
    """
    operands = call.of("self", "other")
    sparse = [one for one in operands if _is_sparse(one)]
    device = common(call.operands())
    if len(operands) < 2 or not sparse or device is None or device.type != "cuda":
        return iterator(call)
    both = len(sparse) == 2
    if not both and sparse[0] is operands[0]:
        operands.reverse()
    named = [*zip(("self", "other"), operands, strict=True), *(("out", out) for out in call.of("out"))]
    for name, operand in named:
        if operand.device.type != "cuda":
            found = str(operand.device.type).upper()
            text = (
                f"expected '{name}' to be CUDA, but got {found}"
                if both
                else (f"expected '{name}' to be a CUDA tensor, but got a {found} tensor")
            )
            raise mismatch(f"add: {text}", *(one for _, one in named))
    return _one_gpu(named, "{r_, t, src}" if both else "{sparse, r_, dense}")


def _is_sparse(operand: Operand) -> bool:
    return str(operand.tensor.layout) == "torch.sparse_coo"


def _one_gpu(named: list[tuple[str, Operand]], tensors: str) -> Any:
    """A check without a text of its own (c10/util/Exception.h)."""
    first = named[0][1]
    for _, operand in named[1:]:
        agree(
            first,
            operand,
            f"Expected cuda::check_device({tensors}) to be true, but got false.  (Could this error message be "
            "improved?  If so, please report an enhancement request to PyTorch.)",
        )
    return first.device


SPARSE: dict[str, Check] = {
    "add.Tensor add_.Tensor add.out": add,
    "sparse_compressed_tensor.comp_plain_value sparse_compressed_tensor.comp_plain_value_size "
    "_sparse_compressed_tensor_unsafe": compressed,
}
SPARSE_BY_RELEASE: dict[str, Callable[[tuple[int, int]], Check]] = {
    "_nested_tensor_from_tensor_list": nested,
    "_sparse_coo_tensor_with_dims_and_tensors": coordinates,
}
