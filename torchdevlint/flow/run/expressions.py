"""Transfer functions of expressions, one for each node type."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable

from torchdevlint.flow.events import AttributeRead, Branched, ReadByHost
from torchdevlint.flow.kinds import ranks, wrappers
from torchdevlint.flow.kinds.arrays import array_dimensions
from torchdevlint.flow.kinds.placed_loads import places_load
from torchdevlint.flow.kinds.sizes import matrix_product, rows_of
from torchdevlint.flow.run import operations
from torchdevlint.flow.run.agreement import compares_devices
from torchdevlint.flow.run.attributes import attribute, one_of
from torchdevlint.flow.run.branches import arms, asked_tensor, note_asked
from torchdevlint.flow.run.calls import call
from torchdevlint.flow.run.chosen import first_true, is_chosen
from torchdevlint.flow.run.comparisons import compare
from torchdevlint.flow.run.comprehensions import comprehension, dict_comprehension
from torchdevlint.flow.run.flags import decides
from torchdevlint.flow.run.imports import from_stars, resolve
from torchdevlint.flow.run.items import item_of_other
from torchdevlint.flow.run.operand_kinds import told_by_other
from torchdevlint.flow.scope.asked_paths import asks_for_more_than_one
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.switches import outcome_without
from torchdevlint.flow.state.joins import (
    alternatives,
    blurred,
    concatenated,
    element_of,
    is_number,
    join,
    join_all,
    sequence,
    settle,
    unpacked,
)
from torchdevlint.flow.state.machine import Frame, closure_of
from torchdevlint.flow.state.others import Imported
from torchdevlint.flow.state.point import State, under_each
from torchdevlint.flow.state.values import (
    NONE,
    NUMBER,
    UNKNOWN,
    Choice,
    Const,
    Func,
    Guard,
    Library,
    Map,
    Ref,
    Seq,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.flow.state.with_accelerator import with_accelerator

_BUILTINS = frozenset(dir(builtins))


def _name(frame: Frame, node: ast.Name, state: State) -> Value:
    value = state.env.get(node.id)
    if value is None:
        for scope in frame.closure.scopes:
            value = scope.get(node.id)
            if value is not None:
                break
        else:
            is_built_in = node.id in _BUILTINS
            found = UNKNOWN if is_built_in and not frame.machine.stars else from_stars(frame, node.id)
            return Ref(f"builtins.{node.id}") if is_built_in and found == UNKNOWN else found
    kind = type(value)
    if kind is Choice:
        return settle(value, state.conditions) if state.conditions else value
    return resolve(frame, value) if kind is Imported else value


def _constant(frame: Frame, node: ast.Constant, state: State) -> Value:
    return Const(node.value)


def _attribute(frame: Frame, node: ast.Attribute, state: State) -> Value:
    if state.paths:
        path = dotted_path(node)
        if path is not None and path in state.paths:
            _note_wrapped(frame, node, state)
            return settle(state.paths[path], state.conditions)
    return attribute(frame, node, state, frame.evaluate(node.value, state))


def _note_wrapped(frame: Frame, node: ast.Attribute, state: State) -> None:
    """An attribute that was put on a model is read after some paths have wrapped that: the wrapper has none."""
    held = state.env.get(node.value.id) if isinstance(node.value, ast.Name) else None
    for _, each in alternatives(held, state.conditions) if isinstance(held, Choice) else ():
        if isinstance(each, Library) and each.prefix:
            frame.machine.emit(AttributeRead(frame, state, node, each))


def _binary(frame: Frame, node: ast.BinOp, state: State) -> Value:
    left, right = frame.evaluate(node.left, state), frame.evaluate(node.right, state)
    if type(left) is Seq and type(right) is Seq:
        return concatenated(left, right)
    repeated = next((each for each in (left, right) if type(each) is Seq), None)
    if repeated is not None and isinstance(node.op, ast.Mult):
        return Seq(None, repeated.element)
    if is_number(left) and is_number(right):
        return NUMBER
    if isinstance(node.op, ast.Add) and any(map(_may_be_sequence, (left, right))):
        return UNKNOWN
    if isinstance(node.op, (ast.Mod, ast.Add)) and isinstance(left, Const) and isinstance(left.value, str):
        return ranks.spelled(left.value, right)
    symbol = operations.SYMBOLS[type(node.op)]
    operands = told_by_other(frame, [(node.left, left), (node.right, right)], product=symbol == "@")
    result = operations.combine(frame, state, node, f"`{symbol}`", operands, strict=symbol == "@")
    return matrix_product(result, left, right) if symbol == "@" else result


def _may_be_sequence(value: Value) -> bool:
    """Whether it is a list, be it on some paths: then what is added to it is one on all."""
    return type(value) is Seq or (type(value) is Choice and any(type(each) is Seq for _, each in value.alternatives))


def _unary(frame: Frame, node: ast.UnaryOp, state: State) -> Value:
    value = frame.evaluate(node.operand, state)
    if isinstance(node.op, ast.Not):
        note_asked(frame, state, node.operand, value)
        if isinstance(value, Guard):
            return Guard(not value.holds)
        return Const(not value.value) if isinstance(value, Const) else UNKNOWN
    if isinstance(value, Const) and isinstance(value.value, (int, float)) and isinstance(node.op, ast.USub):
        return Const(-value.value)
    return value if isinstance(value, (Tensor, Choice, Unknown)) or is_number(value) else UNKNOWN


def _boolean(frame: Frame, node: ast.BoolOp, state: State) -> Value:
    """A guard decides the whole test where an accelerator is there: ``cuda.is_available() and not args.no_cuda``.

    Not where another part is known to be false, as ``index >= 0`` is for the number that was given, or asks for more
    than one, be it accelerators: one may be there.
    """
    results, within = [], state
    for each in node.values:
        results.append(frame.evaluate(each, within))
        note_asked(frame, within, each, results[-1])
        surely = isinstance(each, ast.Constant) or decides(frame, each, state)
        if isinstance(node.op, ast.And) and results[-1] == Const(False) and surely:
            return Const(False)
        rest_is_of_cpu = outcome_without(frame.machine.reading.tree_here, each) is isinstance(node.op, ast.And)
        if within is state and (compares_devices(each) or rest_is_of_cpu):
            within = state.copy()
            within.without_accelerator = True
    guards = [value for value in results if isinstance(value, Guard)]
    if guards:
        agree = {guard.holds for guard in guards}
        decided = len(agree) == 1 and not is_chosen(results[-1]) and not any(map(asks_for_more_than_one, node.values))
        return guards[0] if decided else UNKNOWN
    if isinstance(node.op, ast.And) and any(value == Const(False) for value in results):
        return Const(False)
    if isinstance(node.op, ast.And):
        known = all(value == Const(True) for value in results)
        return Const(True) if known and all(decides(frame, each, state) for each in node.values) else UNKNOWN
    return first_true(results)


def _if_expression(frame: Frame, node: ast.IfExp, state: State) -> Value:
    frame.machine.emit(Branched(frame, state, node))
    test = frame.evaluate(node.test, state)
    note_asked(frame, state, node.test, test)
    taken = test.holds if isinstance(test, Guard) else bool(test.value) if isinstance(test, Const) else None
    if taken is not None:
        otherwise = None
        if isinstance(test, Guard):
            skipped = state.copy()
            skipped.without_accelerator = True
            otherwise = frame.evaluate(node.orelse if taken else node.body, skipped)
        guarded, cuda_of = state.guarded, state.cuda_of
        state.guarded, state.cuda_of = (
            guarded or isinstance(test, Guard),
            asked_tensor(frame, node.test, node.orelse) or cuda_of,
        )
        value = frame.evaluate(node.body if taken else node.orelse, state)
        state.guarded, state.cuda_of = guarded, cuda_of
        return value if otherwise is None else with_accelerator(value, otherwise)
    one, other = arms(frame, node.test, state)
    if places_load(frame, [node.body], [node.orelse]):
        one.guarded = other.guarded = True
    one.cuda_of = asked_tensor(frame, node.test, node.orelse) or one.cuda_of
    wrappers.refine_by_use(frame, [node.body], [node.orelse], one, other)
    if not one.alive or not other.alive:
        return frame.evaluate(node.body, one) if one.alive else frame.evaluate(node.orelse, other)
    return join(frame.evaluate(node.body, one), frame.evaluate(node.orelse, other), one.conditions, other.conditions)


def _sequence(frame: Frame, node: ast.Tuple | ast.List | ast.Set, state: State) -> Value:
    items: list[Value] = []
    open_ended = False
    for each in node.elts:
        if isinstance(each, ast.Starred):
            value = frame.evaluate(each.value, state)
            if isinstance(value, Seq) and value.items is not None:
                items += value.items
                continue
            rows = rows_of(each.value, value)
            items += [element_of(value)] * (rows or 1)
            open_ended = open_ended or rows is None
        else:
            items.append(frame.evaluate(each, state))
    return Seq(None, blurred(join_all(items))) if open_ended else sequence(items)


def _dict(frame: Frame, node: ast.Dict, state: State) -> Value:
    items: dict[object, Value] = {}
    rest: list[Value] = []
    for key, value_node in zip(node.keys, node.values, strict=True):
        value = frame.evaluate(value_node, state)
        if key is None:
            rest.append(value.element if isinstance(value, Map) else UNKNOWN)
            if isinstance(value, Map):
                items.update(value.items)
        elif isinstance(key, ast.Constant):
            items[key.value] = value
        else:
            frame.evaluate(key, state)
            rest.append(value)
    return Map(tuple(items.items()), join_all(rest), closed=not rest)


def _subscript(frame: Frame, node: ast.Subscript, state: State) -> Value:
    if state.paths:
        path = dotted_path(node)
        if path is not None and path in state.paths:
            return settle(state.paths[path], state.conditions)
    value = frame.evaluate(node.value, state)
    index = frame.evaluate(node.slice, state)
    return subscript(frame, node, state, value, index)


def subscript(frame: Frame, node: ast.Subscript, state: State, value: Value, index: Value) -> Value:
    if type(value) is Choice:
        return under_each(state, value, lambda each: subscript(frame, node, state, each, index))
    if type(value) is Tensor:
        return operations.index(frame, state, node, value, index)
    if value == Ref("os.environ"):
        return ranks.of_environment(node, index)
    if type(index) is Tensor and index.ndim and array_dimensions(frame, state, node.value)[0]:
        frame.machine.emit(ReadByHost(frame, state, node, (node.slice, index)))
    value = unpacked(value)
    if type(value) is Seq:
        if value.items is not None and isinstance(index, Const) and isinstance(index.value, int):
            return value.items[index.value] if -len(value.items) <= index.value < len(value.items) else UNKNOWN
        return Seq(None, value.element) if isinstance(node.slice, ast.Slice) else one_of(frame, node, value)
    if isinstance(value, Map):
        if isinstance(index, Const):
            return next((each for key, each in value.items if key == index.value), value.element)
        held = [each for _, each in value.items]
        of_data = value.closed and held and all(isinstance(each, (Seq, Const, Func)) for each in held)
        joined = join_all(held if of_data or value.closed else [*held, value.element])
        named = all(isinstance(each, Ref) for _, each in alternatives(joined))
        return joined if of_data or named or not isinstance(joined, Choice) else UNKNOWN
    return item_of_other(frame, state, node, value, index)


def _slice(frame: Frame, node: ast.Slice, state: State) -> Value:
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            frame.evaluate(part, state)
    return NUMBER


def _walrus(frame: Frame, node: ast.NamedExpr, state: State) -> Value:
    value = frame.evaluate(node.value, state)
    state.env[node.target.id] = value
    return value


def _lambda(frame: Frame, node: ast.Lambda, state: State) -> Value:
    return Func(node, closure_of(frame, state), f"{frame.scope}.<lambda>" if frame.scope else "<lambda>")


def _joined(frame: Frame, node: ast.JoinedStr, state: State) -> Value:
    values = [frame.evaluate(each.value, state) for each in node.values if isinstance(each, ast.FormattedValue)]
    first = node.values[0] if node.values else None
    start = first.value if isinstance(first, ast.Constant) else ""
    return ranks.spelled(str(start), *values)


def _yield(frame: Frame, node: ast.Yield, state: State) -> Value:
    frame.yields.append(frame.evaluate(node.value, state) if node.value else NONE)
    return UNKNOWN


def _yield_from(frame: Frame, node: ast.YieldFrom, state: State) -> Value:
    frame.yields.append(element_of(frame.evaluate(node.value, state)))
    return UNKNOWN


def _inner(frame: Frame, node: ast.Await | ast.Starred, state: State) -> Value:
    return frame.evaluate(node.value, state)


TRANSFER: dict[type, Callable[..., Value]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.Attribute: _attribute,
    ast.Call: call,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _if_expression,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.ListComp: comprehension,
    ast.SetComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.DictComp: dict_comprehension,
    ast.NamedExpr: _walrus,
    ast.Lambda: _lambda,
    ast.JoinedStr: _joined,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Await: _inner,
    ast.Starred: _inner,
}
