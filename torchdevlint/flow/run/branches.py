"""Branches: the condition that an arm adds, what a test tells of a name, and the join of two paths."""

from __future__ import annotations

import ast
from functools import reduce
from itertools import islice

from msgspec.structs import replace

from torchdevlint.flow.events import Asked
from torchdevlint.flow.kinds import wrappers
from torchdevlint.flow.kinds.sizes import Shape, is_zero, shape_of, what_is_filled
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.agreement import compares_devices, refine_places
from torchdevlint.flow.run.branch_tests import condition_of, written_outcome
from torchdevlint.flow.run.cuda_arms import asks_for_cuda, refine_cuda
from torchdevlint.flow.run.dimensions import refine_dimensions
from torchdevlint.flow.run.filtered import refine_filtered
from torchdevlint.flow.run.flags import decides
from torchdevlint.flow.run.instance_arms import refine_instance, refine_type
from torchdevlint.flow.scope.assigned import assignments_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.scope.none_tests import none_test
from torchdevlint.flow.scope.switches import outcome_without
from torchdevlint.flow.state.conditions import extended
from torchdevlint.flow.state.joins import alternatives, join
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.touch import Touch
from torchdevlint.flow.state.values import (
    NONE,
    UNKNOWN,
    Choice,
    Const,
    Names,
    Ref,
    Value,
)
from torchdevlint.source.nodes import nodes_in, once_a_node


def asked_tensor(frame: Frame, test: ast.expr, orelse: ast.expr | None = None) -> ast.expr | None:
    """The tensor in ``x.is_cuda``, alone or with other tests, or by a name for it; else None.

    A Module may have such an attribute of its own, and has no ``device``. None too where the other side of a
    conditional expression says ``.cpu()``: then each side is said.
    """
    if isinstance(orelse, ast.Call) and isinstance(orelse.func, ast.Attribute) and orelse.func.attr == "cpu":
        return None
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return next((found for each in test.values if (found := asked_tensor(frame, each)) is not None), None)
    test = _meant_by(frame, test)
    if not isinstance(test, ast.Attribute) or test.attr != "is_cuda":
        return None
    path = dotted_path(test.value)
    return None if path == "self" or path in _used_as_modules(frame.machine.reading.tree_here) else test.value


@once_a_node
def _used_as_modules(tree: ast.AST) -> frozenset[str]:
    """The names and attributes of a file that are asked for their parameters, or for what else Modules alone have."""
    asked = (each for each in nodes_in(tree, ast.Attribute) if each.attr in torch_api.MODULE_ONLY_ATTRIBUTES)
    return frozenset(path for each in asked if (path := dotted_path(each.value)) is not None)


def _meant_by(frame: Frame, test: ast.expr) -> ast.expr:
    """The test that a name stands for which one assignment of the function binds."""
    if not isinstance(test, ast.Name) or frame.function is None:
        return test
    bound = assignments_by_path(frame.function).get(test.id, ())
    return bound[0].value if len(bound) == 1 else test


def note_asked(frame: Frame, state: State, node: ast.expr, value: Value) -> None:
    """Tell of a function or class of a library whose truth is asked; what else is asked is seen by its test."""
    if type(value) is Ref:
        frame.machine.emit(Asked(frame, state, node, value))


def outcome_of(frame: Frame, test: ast.expr, value: Value, state: State) -> bool | None:
    """What a test with this value surely gives, or None: ``x or True`` and ``x and False`` do not depend on `x`."""
    if type(value) is Const and decides(frame, test, state):
        return bool(value.value)
    return written_outcome(test)


def arms(frame: Frame, test: ast.expr, state: State) -> tuple[State, State]:
    """The states in which `test` holds and does not hold."""
    holds, fails = state.copy(), state.copy()
    key, positive = condition_of(frame, test)
    holds.conditions = _with(state, key, positive)
    fails.conditions = _with(state, key, not positive)
    without = outcome_without(frame.machine.reading.tree_here, test)
    if without is not None:
        frame.machine.without_accelerator.add((key, positive is without))
    if isinstance(test, ast.BoolOp):
        both = isinstance(test.op, ast.And)
        for each in test.values:
            key, positive = condition_of(frame, each)
            arm = holds if both else fails
            arm.conditions = _with(arm, key, positive is both)
    _refine(frame, test, holds, fails)
    _refine_by_name(frame, test, holds, fails)
    return holds, fails


def _with(state: State, key: str, arm: bool) -> tuple[tuple[str, bool], ...]:
    return state.conditions if (key, arm) in state.conditions else (*state.conditions, (key, arm))


def _refine(frame: Frame, test: ast.expr, holds: State | None, fails: State | None) -> None:
    """``x is None``, ``x is not None``, ``x`` and ``not x`` decide which alternatives of `x` are left in each arm."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds, fails = test.operand, fails, holds
    if isinstance(test, ast.BoolOp):
        for each in test.values:
            if isinstance(test.op, ast.And):
                _refine(frame, each, holds, None)
            else:
                _refine(frame, each, None, fails)
        if _asks_for_places(test) or any(map(asks_for_cuda, test.values)):
            _refine_any(frame, test, fails if isinstance(test.op, ast.And) else holds)
        return
    _refine_empty(frame, test, holds, fails)
    refine_filtered(frame, test, holds, fails)
    refine_dimensions(frame, test, holds, fails)
    refine_cuda(frame, test, holds, fails)
    if isinstance(test, ast.Call):
        wrappers.refine_by_test(frame, test, holds, fails)
        refine_instance(frame, test, holds, fails)
        return
    if not isinstance(test, ast.Compare):
        _narrow(frame, test, holds, wants_none=False)
        return
    refine_type(frame, test, holds, fails)
    refine_places(frame, test, holds, fails)
    is_none = none_test(test)
    if is_none is None:
        return
    if not is_none:
        holds, fails = fails, holds
    _narrow(frame, test.left, holds, wants_none=True)
    _narrow(frame, test.left, fails, wants_none=False)


def _refine_by_name(frame: Frame, test: ast.expr, holds: State, fails: State) -> None:
    """``same = a.device == b.device``, then ``if same``."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds, fails = test.operand, fails, holds
    meant = _meant_by(frame, test)
    if meant is not test and _asks_for_places(meant):
        _refine(frame, meant, holds, fails)


def _asks_for_places(test: ast.expr) -> bool:
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    return any(compares_devices(each) for each in parts)


def _refine_any(frame: Frame, test: ast.BoolOp, state: State | None) -> None:
    """Where ``a and b`` fails, `a` fails, or `b` does where `a` holds; the same for where ``a or b`` holds."""
    if state is None:
        return
    both, rest, arms_of = isinstance(test.op, ast.And), state.copy(), []
    for each in test.values:
        arm = rest.copy()
        _refine(frame, each, None if both else arm, arm if both else None)
        _refine(frame, each, rest if both else None, None if both else rest)
        if isinstance(each, ast.Name) and outcome_of(frame, each, frame.evaluate(each, state), state) is both:
            arm.alive = False  # what surely holds is not what ``a and b`` fails by
        arms_of.append(arm)
    joined = reduce(_either_of, arms_of)
    state.take_names(joined)
    state.alive = state.alive and joined.alive


def _either_of(one: State, other: State) -> State:
    joined = one.copy()
    merge_states(joined, one, other, tagged=False)
    return joined


def _refine_empty(frame: Frame, test: ast.expr, holds: State | None, fails: State | None) -> None:
    """``len(x) == 0``, ``x.numel() > 0``: a tensor that was made empty does not get into the other arm.

    Nor does one where its whole shape is asked for, ``x.shape == torch.Size([0, 0])``, if it was made in that one.
    """
    filled, sized, shape = holds, test, None
    if isinstance(test, ast.Compare):
        operator, sized, right = test.ops[0], test.left, test.comparators[0]
        shape = None if isinstance(right, ast.Constant) else _whole_shape(right)
        if shape is None and not is_zero(right):
            return
        filled = fails if isinstance(operator, ast.Eq) else holds if isinstance(operator, (ast.NotEq, ast.Gt)) else None
    node = _sized(sized) if shape is None else _shaped(sized)
    path = dotted_path(node) if node is not None else None
    if filled is None or node is None or path is None or _resizes(frame):
        return
    held = frame.evaluate(node, filled)
    left = what_is_filled(held, filled.conditions, shape)
    if left is None:
        filled.alive = False
    elif left is not held:
        (filled.env if path in filled.env else filled.paths)[path] = left


def _resizes(frame: Frame) -> bool:
    """Whether a class gives tensors another size in place, so that what it made empty may be filled by then."""
    return frame.owner is not None and any(_calls_resize(each.node) for each in frame.owner.mro)


@once_a_node
def _calls_resize(owner: ast.ClassDef) -> bool:
    called = (each.func for each in nodes_in(owner, ast.Call))
    return any(isinstance(each, ast.Attribute) and each.attr in _RESIZES for each in called)


_RESIZES = frozenset({"resize_", "resize_as_", "set_"})


def _whole_shape(node: ast.expr) -> Shape | None:
    """``torch.Size([0, 0])``, ``(0, 0)`` and ``[0, 0]``, if all is numbers."""
    if isinstance(node, ast.Call) and last_name(node.func) == "Size" and len(node.args) == 1:
        node = node.args[0]
    shape = shape_of(node.elts) if isinstance(node, (ast.List, ast.Tuple)) else ()
    return None if not shape or None in shape else shape


def _shaped(test: ast.expr) -> ast.expr | None:
    """The tensor in ``x.shape``, ``x.size()`` and ``list(x.shape)``."""
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name):
        return _shaped(test.args[0]) if test.func.id in ("list", "tuple") and len(test.args) == 1 else None
    asked = test.func if isinstance(test, ast.Call) and not test.args else test
    wanted = "size" if asked is not test else "shape"
    return asked.value if isinstance(asked, ast.Attribute) and asked.attr == wanted else None


def _sized(test: ast.expr) -> ast.expr | None:
    """The tensor in ``len(x)``, ``x.numel()``, ``x.size(0)`` and ``x.shape[0]``."""
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name):
        return test.args[0] if test.func.id == "len" and len(test.args) == 1 else None
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute):
        return test.func.value if test.func.attr in ("numel", "nelement", "size") else None
    if isinstance(test, ast.Subscript) and isinstance(test.value, ast.Attribute) and test.value.attr == "shape":
        return test.value.value
    return None


def _narrow(frame: Frame, node: ast.expr, state: State | None, wants_none: bool) -> None:
    """Leave only the alternatives of a name that are None, or are not; one that is left brings its conditions along."""
    path = dotted_path(node)
    if path is None or state is None:
        return
    value = frame.evaluate(node, state)
    left = tuple(each for each in alternatives(value, state.conditions) if (each[1] == NONE) is wants_none)
    if len(left) == 1:
        state.conditions = extended(state.conditions, left[0][0])
    if wants_none:
        state.bind(path, NONE)
    elif isinstance(value, Choice) and left:
        state.bind(path, left[0][1] if len(left) == 1 and not left[0][0] else Choice(left))


def merge_states(into: State, one: State, other: State, tagged: bool = True) -> None:
    """Replace the contents of `into` by the join of two paths; a path that ended does not count."""
    if not one.alive or not other.alive:
        survivor = other if not one.alive else one
        _take(into, survivor)
        into.alive = one.alive or other.alive
        return
    one_if, other_if = (one.conditions, other.conditions) if tagged else ((), ())
    if one_if == other_if:
        one_if = other_if = ()
    else:
        one_if, other_if = (
            tuple([each for each in one_if if each not in other_if]),
            tuple([each for each in other_if if each not in one_if]),
        )
    into.env = _join_tables(one.env, other.env, one_if, other_if)
    into.paths = _join_tables(one.paths, other.paths, one_if, other_if, missing_is_unknown=True)
    into.deepest = max(one.deepest, other.deepest)
    into.touched = _touched_on(one, other)
    into.without_accelerator = one.without_accelerator and other.without_accelerator
    into.alive = True


def _touched_on(one: State, other: State) -> Touch | None:
    """The touch of CUDA on either path; where each has one of its own, no branch leads around them."""
    if one.touched is None or other.touched is None or one.touched is other.touched:
        return one.touched or other.touched
    return replace(one.touched, conditions=())


def _take(into: State, state: State) -> None:
    into.take_names(state)
    into.touched, into.conditions = state.touched, state.conditions
    into.without_accelerator = state.without_accelerator
    into.default_device = state.default_device


def _join_tables(
    one: Names,
    other: Names,
    one_if: tuple[tuple[str, bool], ...],
    other_if: tuple[tuple[str, bool], ...],
    missing_is_unknown: bool = False,
) -> dict[str, Value]:
    joined, together = dict(one), 0
    for (name, mine), (same, value) in zip(one.items(), other.items(), strict=False):
        if name != same:  # up to here both have what was there before the paths parted
            break
        together += 1
        if mine is not value:
            joined[name] = join(mine, value, one_if, other_if)
    for name, value in islice(other.items(), together, None):
        mine_too = one.get(name)
        if mine_too is None:
            joined[name] = join(UNKNOWN, value, one_if, other_if) if missing_is_unknown else value
        elif mine_too is not value:
            joined[name] = join(mine_too, value, one_if, other_if)
    if missing_is_unknown:
        for name, value in islice(one.items(), together, None):
            if name not in other:
                joined[name] = join(value, UNKNOWN, one_if, other_if)
    return joined
