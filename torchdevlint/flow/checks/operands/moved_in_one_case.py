"""Reads by NumPy of a tensor that was moved under a test: ``if backend == "nccl": x = x.cuda()``, then ``x.numpy()``.

On that path it is on a device. Who reads it under another test that may ask for the same has thought of both.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import is_cpu_spec, is_dtype, places_in
from torchdevlint.flow.scope.place_tests import comes_back, names_place, tests_around
from torchdevlint.flow.scope.tested_places import on_tested_accelerator
from torchdevlint.flow.state.devices import TOP, Device, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Tensor
from torchdevlint.source.nodes import inside


def place_as_tested(frame: Frame, read: ast.expr, value: Tensor) -> Device | None:
    """Where ``x.numpy()`` reads `x` below ``if x.is_cuda:``, wherever it came from."""
    from_anywhere = value.device == TOP or value.device.origin in (Origin.ARGUMENT, Origin.MODEL)
    tested = on_tested_accelerator(frame.function, read) if from_anywhere and frame.function is not None else None
    return None if tested is None else Device(Origin.EXPRESSION, tested[0])


def place_in_one_case(frame: Frame, read: ast.AST, value: Tensor) -> Device | None:
    """Where a test has moved what ``x.numpy()`` reads; None where a test like it may lead to the read, or to none."""
    function = frame.function
    if frame.depth or function is None or value.device != TOP:
        return None
    moves = [step.node for step in value.steps if step.left is not None and isinstance(step.node, ast.Call)]
    place = _place_of(frame, moves[-1]) if moves else None
    if place is None or comes_back(function, read):
        return None
    around_move, around_read = tests_around(function, moves[-1]), tests_around(function, read)
    only_move = [each for each in around_move if each not in around_read]
    only_read = [each for each in around_read if each not in around_move]
    asked = {name for each in only_move for name in _names(each)}
    if not only_move or any(names_place(each) or asked & _names(each) for each in only_read):
        return None
    return place


def _place_of(frame: Frame, move: ast.Call) -> Device | None:
    """Where ``x.cuda()`` and ``x.to(device)`` lead; None if that is the CPU, or said in another way."""
    if not isinstance(move.func, ast.Attribute):
        return None
    places = places_in(move)
    if move.func.attr == "cuda":
        return Device(Origin.LITERAL, "cuda")
    if move.func.attr != "to" or len(places) != 1 or is_cpu_spec(places[0]) or is_dtype(places[0]):
        return None
    return Device(Origin.EXPRESSION, frame.machine.text_of(places[0]))


def _names(test: ast.expr) -> set[str]:
    """The names and attributes that a test asks for, but for the object that has the attributes."""
    return {each.attr if isinstance(each, ast.Attribute) else each.id for each in inside(test) if _is_asked(each)}


def _is_asked(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and node.id != "self")
