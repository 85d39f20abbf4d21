"""Single items of a part of a batch: ``for label, guess in zip(labels, guesses): if guess == label``.

What such a comparison gives is true or false, so each item is one number, of Python or a 0-dim tensor of the CPU: both
may be compared with a tensor of an accelerator. A whole part of a batch may not, although it may have a single number.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec.structs import replace

from torchdevlint.flow.kinds.loaders import is_whole
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.devices import LOADER
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor, Value
from torchdevlint.source.nodes import nodes_in, once_a_node, parts_of_tuple

_TESTING = (ast.If, ast.While, ast.IfExp, ast.Assert)
_TRUTH = frozenset({"bool", "int", "float"})


def as_compared(frame: Frame, state: State, node: ast.Compare, at: ast.expr, value: Value) -> Value:
    """An operand of a comparison, without dimensions where a loop takes it from a part of a batch and one is asked."""
    if type(value) is not Tensor or value.device != LOADER or not value.opaque or not isinstance(at, ast.Name):
        return value
    scope = frame.function or frame.machine.tree
    if node not in _asked_in(scope):
        return value
    sources = [each for target, each in _gone_through(scope) if isinstance(target, ast.Name) and target.id == at.id]
    if not sources or not all(_is_part(frame, state, each) for each in sources):
        return value
    return replace(value, ndim=None)


def _is_part(frame: Frame, state: State, node: ast.expr) -> bool:
    """Whether a loop goes over a part of a batch, and not over a loader or a whole batch."""
    value = frame.evaluate(node, state) if dotted_path(node) is not None else None
    if type(value) is not Tensor or value.device != LOADER or not value.opaque:
        return False
    return not is_whole(frame, node, value, state)


@once_a_node
def _asked_in(scope: ast.AST) -> frozenset[ast.AST]:
    """The comparisons of a scope that have to be true or false: as a test, or a part of one, or as a number."""
    found: set[ast.AST] = set()
    level: list[ast.expr] = [
        *(each.test for kind in _TESTING for each in nodes_in(scope, kind)),  # type: ignore[attr-defined]
        *(test for each in nodes_in(scope, ast.comprehension) for test in each.ifs),
    ]
    calls = (each for each in nodes_in(scope, ast.Call) if isinstance(each.func, ast.Name) and len(each.args) == 1)
    level += [each.args[0] for each in calls if each.func.id in _TRUTH]  # type: ignore[attr-defined]
    while level:
        each = level.pop()
        found.add(each)
        level += each.values if isinstance(each, ast.BoolOp) else ()
        level += [each.operand] if isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.Not) else ()
    return frozenset(found)


@once_a_node
def _gone_through(scope: ast.AST) -> tuple[tuple[ast.expr, ast.expr], ...]:
    """The targets of loops, each with what it goes over: that of ``zip`` and ``enumerate``, not the call."""
    loops: list[ast.For | ast.comprehension] = [*nodes_in(scope, ast.For), *nodes_in(scope, ast.comprehension)]
    return tuple(pair for loop in loops for pair in _pairs(loop.target, loop.iter))


def _pairs(target: ast.expr, source: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    called = source.func.id if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) else ""
    targets, given = parts_of_tuple(target), source.args if isinstance(source, ast.Call) else []
    if called == "zip" and len(targets) == len(given):
        for each, one in zip(targets, given, strict=True):
            yield from _pairs(each, one)
    elif called == "enumerate" and len(targets) == 2 and given:
        yield from _pairs(targets[1], given[0])
    else:
        yield from ((each, source) for each in targets)
