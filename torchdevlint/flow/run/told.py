"""What an operand says of the other one: numbers are not asked for their shape."""

from __future__ import annotations

import ast

from torchdevlint.flow.kinds.parameters import place_of_argument
from torchdevlint.flow.run.operations import Operands
from torchdevlint.flow.scope.names import argument_names, dotted_path, positional_names
from torchdevlint.flow.scope.uses import Uses, asked_in, uses_in
from torchdevlint.flow.state.devices import MODEL, TOP, Origin
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import Tensor, Unknown, Value

_OF_ARRAYS = frozenset({"shape", "ndim"})


def told_by_other(frame: Frame, operands: Operands) -> Operands:
    """Beside a tensor that was made here, an argument that is asked for its shape is a tensor, and no number.

    So is what ``forward`` is given first.
    """
    held = [each for _, value in operands for _, each in alternatives(value)]
    if not any(isinstance(each, Tensor) and each.creations and each.ndim for each in held):
        return operands
    return [(at, _told(frame, at, value)) for at, value in operands]


def _told(frame: Frame, at: ast.expr, value: Value) -> Value:
    given = value.given if isinstance(value, Unknown) else None
    if given is None or given.origin not in (Origin.ARGUMENT, Origin.MODEL) or frame.function is None:
        return value
    used, asked = uses_in(frame.function), asked_in(frame.function)
    for name in _calculated_with(at):
        if "." in name or "[" in name:
            if asked.get(name, set()) & _OF_ARRAYS:
                return given_tensor(given, at)
            continue
        uses = used.get(name) or Uses()
        if uses.is_container or uses.called:
            continue
        if given == MODEL and name in _first_input(frame):
            return given_tensor(given, at)
        if uses.attributes & _OF_ARRAYS:
            if name not in argument_names(frame.function):
                return given_tensor(given, at)
            place = place_of_argument(frame, name)
            return value if place == TOP else given_tensor(place, at)
    return value


def _first_input(frame: Frame) -> list[str]:
    """The first parameter of ``forward`` after `self`."""
    function = frame.function
    named = isinstance(function, ast.FunctionDef) and function.name == "forward"
    return positional_names(function)[1:2] if named and function is not None else []


def _calculated_with(node: ast.expr) -> list[str]:
    """The names in ``a * x - b``, ``~(x > 0)``, and paths such as ``system.momenta`` and ``batch["x"]``."""
    if isinstance(node, ast.BinOp):
        return [*_calculated_with(node.left), *_calculated_with(node.right)]
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return [*_calculated_with(node.left), *_calculated_with(node.comparators[0])]
    if isinstance(node, ast.UnaryOp):
        return _calculated_with(node.operand)
    path = dotted_path(node)
    return [] if path is None else [path]
