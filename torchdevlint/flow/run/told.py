"""What an operand says of the other one: numbers are not asked for their shape."""

from __future__ import annotations

import ast

from torchdevlint.flow.kinds.parameters import place_of_argument
from torchdevlint.flow.run.operations import Operands
from torchdevlint.flow.scope.uses import uses_in
from torchdevlint.flow.state.devices import TOP, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import Tensor, Unknown, Value

_OF_ARRAYS = frozenset({"shape", "ndim"})


def told_by_other(frame: Frame, operands: Operands) -> Operands:
    """Beside a tensor that was made here, an argument that is asked for its shape is a tensor, and no number."""
    if not any(isinstance(value, Tensor) and value.creations and value.ndim for _, value in operands):
        return operands
    return [(at, _told(frame, at, value)) for at, value in operands]


def _told(frame: Frame, at: ast.expr, value: Value) -> Value:
    given = value.given if isinstance(value, Unknown) else None
    if given is None or given.origin is not Origin.ARGUMENT or frame.function is None:
        return value
    used = uses_in(frame.function)
    for name in _calculated_with(at):
        uses = used.get(name)
        if uses is not None and not uses.is_container and not uses.called and uses.attributes & _OF_ARRAYS:
            place = place_of_argument(frame, name)
            return value if place == TOP else given_tensor(place, at)
    return value


def _calculated_with(node: ast.expr) -> list[str]:
    """The names in ``a * x - b``."""
    if isinstance(node, ast.BinOp):
        return [*_calculated_with(node.left), *_calculated_with(node.right)]
    return [node.id] if isinstance(node, ast.Name) else []
