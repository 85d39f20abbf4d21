"""One of two arguments that a function takes as it came, where both have a default on a device (TDL310).

``p = ones(n, device=device) if a is None else a`` beside ``q = ones(m, device=device) if b is None else b.to(device)``:
what is made where nothing is given says where the function works, so that what is given goes there as well. If it is
moved before or later, or says itself where that is, nothing is forgotten; nor where all that is given stays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.left_in_one_case import says_place
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, is_dtype, last_name, mentions_device, public_path
from torchdevlint.flow.scope.none_tests import asked_for_none, none_test
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.plain_moves import moved_by, place_of
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import (
    Assignment,
    arguments_of,
    assignment_of,
    inside,
    is_inside,
    is_name,
    keyword_of,
    nodes_in,
    own_assignments_in,
    own_nodes_in,
)

_STAYS = torch_api.DTYPE_METHODS | frozenset("clone contiguous detach reshape view flatten squeeze unsqueeze".split())
_ELSEWHERE = torch_api.MOVE_METHODS | {"type_as", "numpy", "tolist", "item", "pin_memory"}
_MADE = frozenset(f"torch.{name}" for name in torch_api.FACTORIES - torch_api.DATA_FACTORIES)
_TAKES = frozenset({"torch.as_tensor", "torch.asarray"})


class _Choice(NamedTuple):
    """What a test for None binds to `name`: `given`, in `taken`, with its `move` if any, or one made at `place`."""

    name: str
    given: str
    taken: ast.expr
    move: ast.Call | None
    place: ast.expr


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not imports_torch(machine.tree):
        return
    for function in functions_that_place(machine.tree):
        choices = list(_choices(function))
        if len(choices) < 2:
            continue
        for left, move in _left(function, choices):
            record(machine, function, "beside", left.taken, move, at=left.taken, name=left.given)


def _left(function: FunctionNode, choices: Sequence[_Choice]) -> Iterator[tuple[_Choice, ast.Call]]:
    """The only choice at a place that takes what is given as it came, where others move it there."""
    at: dict[str, list[_Choice]] = {}
    for each in choices:
        at.setdefault(ast.unparse(each.place), []).append(each)
    for group in at.values():
        left = [each for each in group if each.move is None]
        moved = [each for each in group if each.move is not None and not _is_source(function, each)]
        if len(left) != 1 or not moved or _is_source(function, left[0]):
            continue
        for beside in moved:
            kept = is_bookkeeping(left[0].given) and not is_bookkeeping(beside.given)
            alike = _come_alike(function, left[0].given, beside.given)
            if not kept and alike and not _leaves(function, left[0], beside):
                assert beside.move is not None
                yield left[0], beside.move
                break


def _choices(function: FunctionNode) -> Iterator[_Choice]:
    for asked in own_nodes_in(function, ast.If):
        arms = [assignment_of(arm[0]) if len(arm) == 1 else None for arm in (asked.body, asked.orelse)]
        if arms[0] is not None and arms[1] is not None:
            names = [dotted_path(each.targets[0]) if each is not None else None for each in arms]
            if names[0] is not None and names[0] == names[1]:
                yield from _choice(names[0], asked.test, arms[0].value, arms[1].value)
    for each in own_assignments_in(function):
        name, value = dotted_path(each.targets[0]), each.value
        if name is not None and isinstance(value, ast.IfExp):
            yield from _choice(name, value.test, value.body, value.orelse)


def _choice(name: str, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Iterator[_Choice]:
    given = asked_for_none(test)
    if not given:
        return
    made, taken = (body, orelse) if none_test(test) else (orelse, body)
    place, is_taken, move = _place_of_made(made), *_taken(taken, given)
    if place is not None and is_taken and (move is None or _place(move) == ast.unparse(place)):
        yield _Choice(name, given, taken, move, place)


def _place_of_made(made: ast.expr) -> ast.expr | None:
    """The device by name of ``torch.ones(n, device=device) / n``."""
    calls = (each for each in inside(made) if isinstance(each, ast.Call) and public_path(each.func) in _MADE)
    places = [keyword_of(each, "device") for each in calls]
    if len(places) != 1 or places[0] is None or moved_by(made) is not None or is_cpu_spec(places[0]):
        return None
    return places[0] if mentions_device(last_name(places[0])) else None


def _taken(node: ast.expr, given: str) -> tuple[bool, ast.Call | None]:
    """Whether it is what was given, but for conversions and shapes, and the move of it."""
    move: ast.Call | None = None
    while isinstance(node, ast.Call):
        if public_path(node.func) in _TAKES and node.args:
            move = node if keyword_of(node, "device") is not None else move
            node = node.args[0]
        elif isinstance(node.func, ast.Attribute) and (moved_by(node) is node or _is_kept_where_it_is(node)):
            move = node if moved_by(node) is node else move
            node = node.func.value
        else:
            return False, None
    return is_name(node, given), move


def _is_kept_where_it_is(call: ast.Call) -> bool:
    if last_name(call.func) == "to":
        given = arguments_of(call)
        return bool(given) and all(is_dtype(each) or last_name(each) == "dtype" for each in given)
    return last_name(call.func) in _STAYS


def _place(move: ast.Call) -> str:
    told = keyword_of(move, "device")
    return ast.unparse(told) if told is not None else place_of(move)


def _is_source(function: FunctionNode, choice: _Choice) -> bool:
    """Whether the place may come from what is given: ``device = a.device``."""
    if any(is_name(each, choice.given) for each in inside(choice.place)):
        return True
    first = next((each.id for each in inside(choice.place) if isinstance(each, ast.Name)), "")
    bound = [each for each in own_assignments_in(function) if _binds(each, first)]
    asks = (each for one in bound for each in inside(one.value) if isinstance(each, ast.Attribute))
    return any(each.attr == "device" and is_name(each.value, choice.given) for each in asks)


def _leaves(function: FunctionNode, choice: _Choice, beside: _Choice) -> bool:
    """Whether anything else brings it somewhere, reads it on the host, or gets it with a place.

    What gets the other one as well, as what prepares all arguments does, means neither alone.
    """
    paths, others = {choice.name, choice.given}, {beside.name, beside.given}
    for each in nodes_in(function, ast.Attribute):
        if each.attr in _ELSEWHERE and dotted_path(each.value) in paths:
            return True
    for call in nodes_in(function, ast.Call):
        given = arguments_of(call)
        held = {dotted_path(each) for each in given}
        if not held.isdisjoint(paths) and held.isdisjoint(others) and says_place(call):
            return True
    return False


def _come_alike(function: FunctionNode, one: str, other: str) -> bool:
    """Whether the same statements bind both names, or none: arguments as they came, or what one call prepared."""
    parameters = {each.arg for each in nodes_in(function.args, ast.arg)}
    ways = [(name in parameters, [id(each) for each in _binders(function, name)]) for name in (one, other)]
    return ways[0] == ways[1] and (ways[0][0] or bool(ways[0][1]))


def _binders(function: FunctionNode, name: str) -> Iterator[ast.AST]:
    """The statements that bind a name, and the name itself where that is not an assignment."""
    assigned = [each.node for each in own_assignments_in(function) if _binds(each, name)]
    for each in nodes_in(function, ast.Name):
        if each.id == name and not isinstance(each.ctx, ast.Load):
            yield next((one for one in assigned if is_inside(each, one)), each)


def _binds(assigned: Assignment, name: str) -> bool:
    return any(is_name(each, name) for target in assigned.targets for each in inside(target))


SAYING = ("device=",)
EVENTS = {FileEnded: _note_end}
