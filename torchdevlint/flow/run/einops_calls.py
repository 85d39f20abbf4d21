"""einops and einx: operations on tensors whose patterns say how many dimensions come out."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.run.operations import combine
from torchdevlint.flow.run.tensor_methods import surely_tensor, tensor_operands
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.joins import distribute
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import AT_LEAST_1, UNKNOWN, Choice, Const, Seq, Tensor, Value
from torchdevlint.patterns import regex

_REORDERING = frozenset({"rearrange", "repeat", "reduce"})
_OF_EINX = frozenset(
    """
    add subtract multiply true_divide divide maximum minimum logaddexp less less_equal greater greater_equal equal
    not_equal logical_and logical_or where dot
    """.split()
)
"""What einx does with the operation of torch by that name, after it has given all operands the same dimensions."""
_AXES = regex(r"\([^()]*\)|\.\.\.|\w+")


def call(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> Value:
    """What ``einops.rearrange(x, pattern, ..)`` and its kin give; lists of tensors are stacked first."""
    package, _, tail = name.rpartition(".")
    if package == "einx":
        return _of_einx(frame, state, node, tail, arguments)
    if tail == "einsum" and len(arguments.positional) > 1:
        operands = [surely_tensor(*each) for each in arguments.positional[:-1]]
        result = combine(frame, state, node, "`einops.einsum()`", operands, strict=True)
        return _shaped(result, arguments.positional[-1][1])
    given = arguments.get(0, "tensor")
    if tail not in _REORDERING or given is None:
        return UNKNOWN
    pattern = arguments.value(1, "pattern")
    if not isinstance(given[1], Seq):
        return _shaped(surely_tensor(*given)[1], pattern)
    return _shaped(combine(frame, state, node, f"`einops.{tail}()`", tensor_operands(*given), strict=True), pattern)


def _of_einx(frame: Frame, state: State, node: ast.Call, tail: str, arguments: Arguments) -> Value:
    """What ``einx.less("n, b -> b n", positions, lengths)`` and its kin give."""
    if tail not in _OF_EINX or len(arguments.positional) < 2 or arguments.starred:
        return UNKNOWN
    operands = [surely_tensor(*each) for each in arguments.positional[1:]]
    result = combine(frame, state, node, f"`einx.{tail}()`", operands, strict=tail == "dot")
    return _shaped(result, arguments.positional[0][1])


def _shaped(value: Value, pattern: Value) -> Value:
    """A tensor with the dimensions that a pattern ends with; anything else is as it was."""
    if isinstance(value, Choice):
        return distribute(value, lambda each: _shaped(each, pattern))
    if not isinstance(value, Tensor):
        return value
    text = pattern.value if isinstance(pattern, Const) and isinstance(pattern.value, str) else ""
    axes = _AXES.findall(text.partition("->")[2])
    ndim = AT_LEAST_1 if "..." in axes or not axes else len(axes)
    return replace(value, ndim=ndim if text else None, parameter=False, opaque=False)
