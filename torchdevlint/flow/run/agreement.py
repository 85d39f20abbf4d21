"""Tests whether two tensors are in one place: where such a test says so, they are."""

from __future__ import annotations

import ast

from torchdevlint.flow.run.operations import combine
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.state.devices import TOP, Device, stays_behind
from torchdevlint.flow.state.joins import alternatives, distribute
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import at, given_tensor
from torchdevlint.flow.state.values import Choice, Dev, Tensor, Unknown, Value
from torchdevlint.source.nodes import once_a_node


@once_a_node
def compares_devices(test: ast.expr) -> bool:
    """``a.device == b.device``: what a test of it allows runs only where they agree."""
    while isinstance(test, ast.UnaryOp):
        test = test.operand
    return isinstance(test, ast.Compare) and all(_placed_by(side) for side in (test.left, *test.comparators))


def refuse_apart(frame: Frame, state: State, test: ast.expr) -> bool:
    """``if a.device != b.device: raise`` refuses arguments that are apart, as an operation of torch does.

    The answer is whether it compares with the place of an object, ``self.device``, whose tensors may all be there.
    """
    if not compares_devices(test):
        return False
    asked = test
    while isinstance(asked, ast.UnaryOp):
        asked = asked.operand
    assert isinstance(asked, ast.Compare)
    placed = [each for side in (asked.left, *asked.comparators) if (each := _placed_by(side)) is not None]
    values = [_asked_tensor(each, frame.evaluate(each, state)) for each in placed]
    held = [[each for _, each in alternatives(value)] for value in values]
    names = parameter_names(frame.function) if frame.function is not None and frame.depth else frozenset()
    given = names.issuperset(dotted_path(each) or "" for each in placed)
    if given and len(held) > 1 and all(isinstance(each, Tensor) for part in held for each in part):
        operands = list(zip(placed, values, strict=True))
        combine(frame, state, asked, f"`{frame.machine.text_of(asked)}`", operands, strict=True)
    return not all(isinstance(each, (Tensor, Unknown)) for part in held for each in part)


def _asked_tensor(node: ast.expr, value: Value) -> Value:
    """What came from an argument, and is asked for its device to compare it, is a tensor there."""
    return given_tensor(value.given, node) if isinstance(value, Unknown) and value.given is not None else value


def refine_places(frame: Frame, test: ast.Compare, holds: State | None, fails: State | None) -> None:
    """Where ``a.device == b.device`` holds, what would have stayed on the CPU is where the other one is."""
    if len(test.ops) > 1 or not isinstance(test.ops[0], (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        return
    agree = fails if isinstance(test.ops[0], (ast.NotEq, ast.IsNot)) else holds
    if agree is None:
        return
    sides = (test.left, test.comparators[0])
    for this, other in (sides, sides[::-1]):
        tensor = _placed_by(this)
        path = None if tensor is None else dotted_path(tensor)
        if tensor is None or path is None:
            continue
        place = _place_of(frame, other, agree)
        if place is not None and not stays_behind(place):
            (agree.env if path in agree.env else agree.paths)[path] = _brought(frame.evaluate(tensor, agree), place)


def _placed_by(node: ast.expr) -> ast.expr | None:
    """The tensor in ``x.device``, ``x.device.type``, ``str(x.device)``, ``x.get_device()`` and ``x.is_cuda``."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            return node.func.value if node.func.attr == "get_device" else None
        if not isinstance(node.func, ast.Name) or node.func.id != "str" or not node.args:
            return None
        node = node.args[0]
    if isinstance(node, ast.Attribute) and node.attr in ("type", "index"):
        node = node.value
    return node.value if isinstance(node, ast.Attribute) and node.attr in ("device", "is_cuda") else None


def _place_of(frame: Frame, node: ast.expr, state: State) -> Device | None:
    """The place that one side of the test stands for, if it stands for one."""
    tensor = _placed_by(node)
    value = frame.evaluate(tensor if tensor is not None else node, state)
    if isinstance(value, (Dev, Tensor)):
        return value.device
    return TOP if tensor is not None else None


def _brought(value: Value, place: Device) -> Value:
    if isinstance(value, Choice):
        return distribute(value, lambda each: _brought(each, place))
    return at(value, place) if isinstance(value, Tensor) and stays_behind(value.device) else value
