"""Tests for the number of dimensions: ``x.dim() == 1``, ``len(x.shape) > 1``; ``x.shape`` is true from one on."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.joins import alternatives, choose
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import AT_LEAST_1, Tensor, Value
from torchdevlint.source.nodes import once_a_node

_MOST = 9
"""Tests for more dimensions than one less are not known."""
_ATTRIBUTES = frozenset({"ndim", "shape"})
_METHODS = frozenset({"dim", "ndimension", "size"})
_OPERATORS: dict[type, Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def refine_dimensions(frame: Frame, test: ast.expr, holds: State | None, fails: State | None) -> None:
    """Leave in each arm the tensors that can have come there, of those whose number of dimensions is known."""
    asked, answer = _question(test)
    path = dotted_path(asked) if asked is not None else None
    if asked is None or path is None:
        return
    for arm, outcome in ((holds, True), (fails, False)):
        held = [] if arm is None else alternatives(frame.evaluate(asked, arm), arm.conditions)
        left = [each for each in held if _answer(each[1], answer) in (None, outcome)]
        if arm is None or len(left) == len(held):
            continue
        if left:
            (arm.env if path in arm.env else arm.paths)[path] = choose(left)
        else:
            arm.alive = False


@once_a_node
def _question(test: ast.expr) -> tuple[ast.expr | None, Callable[[int], bool]]:
    """The tensor that is asked for its dimensions, and what the test says of a number of them."""
    if not isinstance(test, ast.Compare):
        return _counted(test, as_sizes=True), bool
    right = test.comparators[0]
    compared = _OPERATORS.get(type(test.ops[0]))
    if len(test.ops) > 1 or compared is None or not isinstance(right, ast.Constant) or type(right.value) is not int:
        return None, bool
    number = right.value
    return _counted(test.left, as_sizes=False), lambda ndim: compared(ndim, number)


def _counted(node: ast.expr, as_sizes: bool) -> ast.expr | None:
    """`x` in ``x.dim()``, ``x.ndim`` and ``len(x.shape)``; in ``x.shape`` where its being empty is asked."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
        return _sizes_of(node.args[0], {"shape", "size"})
    return _sizes_of(node, {"ndim", "dim", "ndimension"} | ({"shape", "size"} if as_sizes else set()))


def _sizes_of(node: ast.expr, names: set[str]) -> ast.expr | None:
    called = isinstance(node, ast.Call) and not node.args and not node.keywords
    found = node.func if isinstance(node, ast.Call) and called else node
    known = (_METHODS if called else _ATTRIBUTES) & names
    return found.value if isinstance(found, ast.Attribute) and found.attr in known else None


def _answer(value: Value, answer: Callable[[int], bool]) -> bool | None:
    """What the test gives for a value; None for what may have one number of dimensions or another.

    That an argument is used as only one with dimensions can be says nothing before such a test.
    """
    if not isinstance(value, Tensor) or value.ndim is None or (value.ndim == AT_LEAST_1 and not value.creations):
        return None
    possible = range(1, _MOST) if value.ndim == AT_LEAST_1 else (value.ndim,)
    answers = {answer(each) for each in possible}
    return answers.pop() if len(answers) == 1 else None
