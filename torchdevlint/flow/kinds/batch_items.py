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
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Choice, Tensor, Value
from torchdevlint.source.nodes import nodes_in, once_a_node, parts_of_tuple

_TESTING = (ast.If, ast.While, ast.IfExp, ast.Assert)
_TRUTH = frozenset({"bool", "int", "float"})


def as_compared(frame: Frame, state: State, node: ast.Compare, at: ast.expr, value: Value) -> Value:
    """An operand of a comparison, without dimensions where a loop takes it from a part of a batch and one is asked.

    A part may be one that is moved on some paths only.
    """
    if not isinstance(at, ast.Name) or not any(_is_given(each) for _, each in alternatives(value)):
        return value
    scope = frame.function or frame.machine.tree
    if node not in _asked_in(scope):
        return value
    sources = [each for target, each in _gone_through(scope) if isinstance(target, ast.Name) and target.id == at.id]
    if not sources or not all(_is_part(frame, state, each) for each in sources):
        return value
    if type(value) is not Choice:
        return _without_dimensions(value)
    return replace(value, alternatives=tuple((when, _without_dimensions(each)) for when, each in value.alternatives))


def _is_given(value: Value) -> bool:
    """Whether it is what a loader gave, or of that."""
    return type(value) is Tensor and value.opaque and value.device == LOADER


def _without_dimensions(value: Value) -> Value:
    return replace(value, ndim=None) if type(value) is Tensor and _is_given(value) else value


def _is_part(frame: Frame, state: State, node: ast.expr) -> bool:
    """Whether a loop goes over a part of a batch, and not over a loader or a whole batch."""
    value = frame.evaluate(node, state) if dotted_path(node) is not None else None
    held = [] if value is None else [each for _, each in alternatives(value)]
    if not all(type(each) is Tensor for each in held):
        return False
    given = [each for each in held if type(each) is Tensor and _is_given(each)]
    return bool(given) and not any(is_whole(frame, node, each, state) for each in given)


@once_a_node
def _asked_in(scope: ast.AST) -> frozenset[ast.AST]:
    """The comparisons of a scope that have to be true or false: as a test, or a part of one, or as a number.

    So they are where their `item` is asked for.
    """
    found: set[ast.AST] = set()
    level: list[ast.expr] = [
        *(each.test for kind in _TESTING for each in nodes_in(scope, kind)),  # type: ignore[attr-defined]
        *(test for each in nodes_in(scope, ast.comprehension) for test in each.ifs),
    ]
    for call in nodes_in(scope, ast.Call):
        if isinstance(call.func, ast.Name) and call.func.id in _TRUTH and len(call.args) == 1:
            level.append(call.args[0])
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "item":
            level.append(call.func.value)
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
