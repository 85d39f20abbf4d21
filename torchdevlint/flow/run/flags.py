"""Constants of a module, such as ``use_cuda = False``: they are there to be changed, and so decide no test."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.switches import outcome_without
from torchdevlint.flow.scope.uses import bound_in_loops
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import UNKNOWN, Const, Value


def decides(frame: Frame, test: ast.expr, state: State) -> bool:
    """Whether a test with a known outcome takes one arm only: a constant of the module is there to be changed.

    In a loop of the module names may have another value in the second round, as `first` has after ``first = True``;
    not so what no loop binds and switches an accelerator off.
    """
    if isinstance(test, ast.UnaryOp):
        return decides(frame, test.operand, state)
    if isinstance(test, ast.Name):
        return test.id in state.env and (frame.function is not None or _changes_in_rounds(frame, test))
    return True


def _changes_in_rounds(frame: Frame, name: ast.Name) -> bool:
    if not frame.loop_round:
        return False
    tree = frame.machine.reading.tree_here
    return outcome_without(tree, name) is None or name.id in bound_in_loops(tree)


def as_handed_on(frame: Frame, node: ast.expr, value: Const, state: State) -> Value:
    """What a function is given: a constant that switches the accelerator off decides no test there either."""
    if type(value.value) is not bool or not isinstance(node, ast.Name):
        return value
    if decides(frame, node, state) or outcome_without(frame.machine.reading.tree_here, node) is not value.value:
        return value
    return UNKNOWN
