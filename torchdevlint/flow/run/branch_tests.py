"""Tests of branches as keys: the same for a test and its negation, and for what asks the same in other words."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.uses import bound_in_loops
from torchdevlint.flow.state.machine import Frame, FunctionNode
from torchdevlint.source.nodes import inside


def condition_of(frame: Frame, test: ast.expr) -> tuple[str, bool]:
    """A key for the test that its negation shares.

    Tests of different calls are different, and so are those of different loop rounds, unless no loop can change them.
    """
    scope = frame.function or frame.machine.reading.tree_here
    known = test.__dict__.get(_ASKED)
    if known is None or known[0] != id(scope):
        known = test.__dict__[_ASKED] = id(scope), *_asked(frame, test, scope)
    _, text, positive, changes = known
    return f"{frame.activation}.{frame.loop_round if changes else 0}:{text}", positive


_ASKED = f"{__name__}.asked"
"""What `_asked` gives is kept with the test, for all analyses that run it, as `once_a_node` does."""


def _asked(frame: Frame, test: ast.expr, scope: FunctionNode | ast.Module) -> tuple[str, bool, bool]:
    """What a test and its negation share as text, whether it is that itself, and whether loops change the outcome."""
    positive, text_of = True, frame.machine.reading.text_here
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, positive = test.operand, not positive
    flag = _flag_asked(test)
    if flag is not None:
        test, positive = flag[0], positive is flag[1]
        text = text_of(test)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.IsNot, ast.NotEq)):
        positive = not positive
        right = text_of(test.comparators[0])
        text = f"{text_of(test.left)} {'is' if isinstance(test.ops[0], ast.IsNot) else '=='} {right}"
    else:
        text = text_of(test)
    return text, positive, _changes_in_loops(test, scope)


def _flag_asked(test: ast.expr) -> tuple[ast.expr, bool] | None:
    """``flag == False`` and ``flag is not True`` ask the same as ``not flag``: what is asked, and for which outcome."""
    if not isinstance(test, ast.Compare) or len(test.ops) > 1:
        return None
    operator, value = test.ops[0], test.comparators[0]
    if not isinstance(value, ast.Constant) or not isinstance(value.value, bool):
        return None
    if not isinstance(operator, (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)):
        return None
    return test.left, value.value is isinstance(operator, (ast.Eq, ast.Is))


def _changes_in_loops(test: ast.expr, scope: FunctionNode | ast.Module) -> bool:
    """Whether the test calls something, or reads a name that a loop of the function or module around it binds."""
    parts = list(inside(test))
    if any(isinstance(each, (ast.Call, ast.Await, ast.NamedExpr)) for each in parts):
        return True
    return not bound_in_loops(scope).isdisjoint(each.id for each in parts if isinstance(each, ast.Name))
