"""`_foreach_*`: lists of tensors, each index by itself.

A CUDA kernel over whole lists is only taken where all tensors share one device (`can_use_fast_route`,
aten/src/ATen/native/ForeachUtils.h); otherwise each index runs as the ordinary element-wise operator.
"""

from __future__ import annotations

from typing import Any

from torchdevlint.runtime.simulated.operators.checks import iterate
from torchdevlint.runtime.simulated.operators.schema import Call, Operand
from torchdevlint.runtime.simulated.operators.texts import mismatch

_PACKED = ("_foreach_addcdiv", "_foreach_addcdiv_", "_foreach_addcmul", "_foreach_addcmul_")


def foreach(call: Call) -> tuple[Any, ...]:
    """The device of each output."""
    lists = [call.operands([argument]) for argument in call.schema.tensors if argument.many]
    for argument in call.schema.tensors:
        if not argument.many:
            for scalar in call.operands([argument]):
                _scalar(call, lists[0], scalar)
    crosses = "copy" in call.schema.base
    return tuple(operands[0].device if crosses else _one(operands) for operands in zip(*lists, strict=False))


def _one(operands: tuple[Operand, ...]) -> Any:
    outputs = [operand for operand in operands if operand.written]
    inputs = [operand for operand in operands if not operand.out]
    return iterate(outputs, inputs, len(inputs))


def _scalar(call: Call, tensors: list[Operand], scalar: Operand) -> None:
    """A tensor beside the lists: numbers packed in a CPU tensor, or one number (cuda/ForeachBinaryOpScalarTensor.cu).

    One number on the CPU is read with `.item()`.
    """
    if call.schema.base in _PACKED:
        if scalar.device.type != "cpu":
            raise mismatch(f"Expected scalars to be on CPU, got {scalar.device} instead.", scalar)
        return
    if scalar.device.type == "cpu" or not tensors or tensors[0].device == scalar.device:
        return
    first = tensors[0]
    if first.tensor.dtype == scalar.tensor.dtype:
        be = "is expected" if call.schema.in_place else "expected"
        raise mismatch(f"scalar tensor {be} to be on {first.device} but is on {scalar.device}", first, scalar)
    iterate([first] if first.written else [], [first, scalar])
