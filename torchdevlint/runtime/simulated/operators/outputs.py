"""Operators with an out= argument that say something of their own where it is elsewhere.

Paths are in pytorch/pytorch below aten/src/ATen/native unless they say otherwise.
"""

from __future__ import annotations

from typing import Any

from torchdevlint.runtime.simulated.operators.checks import Check, agree, common, out_follows
from torchdevlint.runtime.simulated.operators.schema import Call
from torchdevlint.runtime.simulated.operators.texts import mismatch, wrong_out


def _out_like_input(call: Call) -> Any:
    """ReduceOps.cpp, `check_scalar_type_device_layout_equal`: asked before the helper that does the work."""
    (data,) = call.of("self")
    for out in call.operands():
        if out.out:
            agree(data, out, f"expected device {data.device} but found {out.device}")
    return data.device


def _guarded_out(call: Call) -> Any:
    """A structured kernel begins with a guard for where its input is (torchgen, register_dispatch_key.py).

    With out= on CUDA the kernel is CUDA's, whose guard refuses the CPU.
    """
    operands = call.operands()
    inputs = [operand for operand in operands if not operand.out]
    for out in operands:
        if out.out and out.device.type == "cuda" and common(inputs).type == "cpu":
            raise mismatch("CUDAGuardImpl initialized with non-CUDA DeviceType: cpu", inputs[0], out)
    return out_follows(call)


def _extremum_out(call: Call) -> Any:
    """ReduceAllOps.cpp, `max_unary_out`: a check without a text of its own (c10/util/Exception.h)."""
    (data,) = call.of("self")
    for out in call.of("out"):
        text = "Expected self.device() == out.device() to be true, but got false.  (Could this error message be "
        agree(data, out, f"{text}improved?  If so, please report an enhancement request to PyTorch.)")
    return data.device


def _dot_out(call: Call) -> Any:
    """Blas.cpp, `dot_out` and `vdot_out`."""
    (out,), (left,), (right,) = call.of("out"), call.of("self"), call.of("tensor", "other")
    if not out.device == left.device == right.device:
        text = f"{call.schema.base}: Expected the output and input tensors to be on the same device, but got the "
        text += f"output tensor on {out.device}, the 'input' tensor on {left.device}, and the 'other' tensor on "
        raise mismatch(f"{text}{right.device}", out, left if left.device != out.device else right)
    return out.device


def _cholesky_solve(call: Call) -> Any:
    """BatchLinearAlgebra.cpp, `cholesky_solve_out`, and LinearAlgebraUtils.h, `linearSolveCheckInputs`."""
    (data,), (factor,) = call.of("self"), call.of("input2")
    for out in call.of("out"):
        text = "cholesky_solve: Expected result and input tensors to be on the same device, but got result on "
        agree(data, out, f"{text}{out.device} and input on {data.device}")
    text = f"Expected b and A to be on the same device, but found b on {data.device} and A on {factor.device} instead."
    agree(data, factor, text)
    return data.device


def _out_like_first(call: Call) -> Any:
    """`copy_arg` of generated out= variants (torchgen): the rest is copied into what is made like the first operand."""
    first = call.operands()[0]
    for out in call.of("out"):
        if out.device != first.device:
            raise wrong_out(first, out)
    return first.device


OUTPUTS: dict[str, Check] = {
    "cummax.out cummin.out logcumsumexp.out": _out_like_input,
    "cumprod.out cumsum.out all.all_out all.dims_out all.out any.all_out any.dims_out any.out mean.out renorm.out "
    "logsumexp.out": _guarded_out,
    "slice_scatter.out select_scatter.out diagonal_scatter.out as_strided_scatter.out copy.out": _out_like_first,
    "max.unary_out min.unary_out": _extremum_out,
    "dot.out vdot.out": _dot_out,
    "cholesky_solve cholesky_solve.out": _cholesky_solve,
}
