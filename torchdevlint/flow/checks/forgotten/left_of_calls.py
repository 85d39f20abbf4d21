"""What one call of an object gives, left where it is, where all others of the class are moved at once (TDL310).

``ids = self.tokenize(text); ids = ids.to(self.device)`` in one place, and ``ids = self.tokenize(text)`` in another that
gives `ids` to whom the first gives its own, or returns it as that does. A method of the class that says a place may
have brought it there, and so may one that calculates with what the object keeps; what a model gives is where the model
is. Lengths, and what the host reads, stay for a reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping, is_quantity
from torchdevlint.flow.scope.knowing_devices import knows_devices
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, last_name, mentions_device, public_path, stem_of
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.plain_moves import moved_by, names_moved, place_of
from torchdevlint.flow.scope.used_with_moved import is_left_alone
from torchdevlint.flow.state.machine import Machine
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, is_name, keyword_of, nodes_in, own_assignments_in, own_nodes_in

_RETURN = "return"
_LEAST = 2
_BUILT_IN = frozenset("len print int float str list tuple set dict sorted enumerate zip range isinstance type".split())


class _Bound(NamedTuple):
    """What a method binds to a name as a call gives it, and the move of that, if there is one."""

    method: FunctionNode
    name: str
    call: ast.Call
    move: ast.Call | None


def look(machine: Machine) -> None:
    """Record what is left so in a file that moves something."""
    placing = {*functions_that_place(machine.tree)}
    for owner in nodes_in(machine.tree, ast.ClassDef) if placing else ():
        methods = [each for each in owner.body if isinstance(each, FunctionNode)]
        if placing.isdisjoint(methods):
            continue
        by_callee: dict[str, list[_Bound]] = {}
        for callee, bound in _bound_in(methods):
            by_callee.setdefault(callee, []).append(bound)
        for callee, held in by_callee.items():
            if len(held) < _LEAST:
                continue
            held = [each._replace(move=each.move or _next_move(*each[:3])) for each in held]
            left = [each for each in held if each.move is None]
            moves = [each.move for each in held if each.move is not None]
            if len(left) != 1 or not moves or len(set(map(place_of, moves))) != 1:
                continue
            if _is_placed(methods, callee) or _is_placed_by_others(machine, callee):
                continue
            if _goes_along(left[0], [each for each in held if each.move is not None]):
                record(machine, left[0].method, "calls", left[0].call, moves[0], at=left[0].call, name=left[0].name)


def _calls_in(method: FunctionNode) -> Iterator[tuple[str, ast.Call, ast.Call | None]]:
    """``x = self.tokenize(text)``: the name, the call, and the move right behind it."""
    for each in own_assignments_in(method):
        move = moved_by(each.value)
        call = move.func.value if move is not None and isinstance(move.func, ast.Attribute) else each.value
        target = each.targets[0]
        if isinstance(call, ast.Call) and isinstance(target, ast.Name) and len(each.targets) == 1:
            yield target.id, call, move


def _bound_in(methods: list[FunctionNode]) -> Iterator[tuple[str, _Bound]]:
    for method in methods:
        for name, call, move in _calls_in(method):
            callee = dotted_path(call.func) or ""
            if not callee.startswith("self.") or is_named_like_a_model(call.func):
                continue
            told = any(mentions_device(last_name(each)) for each in arguments_of(call))
            if told or keyword_of(call, "return_tensors") is not None:  # of a tokenizer TDL005 tells
                continue
            yield callee, _Bound(method, name, call, move)


def _next_move(method: FunctionNode, name: str, call: ast.Call) -> ast.Call | None:
    """The move of what the call gives, before the name is bound to anything else."""
    behind = [each for each in own_assignments_in(method) if each.node.lineno > (call.end_lineno or call.lineno)]
    bound = [each for each in behind if any(is_name(target, name) for target in each.targets)]
    first = min(bound, key=lambda each: each.node.lineno, default=None)
    move = names_moved(method).get(name)
    if first is not None and moved_by(first.value) is not None and is_name(stem_of(first.value), name):
        return moved_by(first.value)
    last = first.node.lineno if first is not None else method.end_lineno or 0
    return move if move is not None and call.lineno < move.lineno <= last else None


def _takers(method: FunctionNode, name: str, line: int) -> Iterator[str]:
    """Who gets what the name holds below a line, by the text of the callee; and the caller."""
    for call in nodes_in(method, ast.Call):
        path = public_path(call.func)
        if call.lineno > line and path and path not in _BUILT_IN and not path.startswith(("numpy.", "np.")):
            yield from (path for each in arguments_of(call) if is_name(each, name))
    for each in own_nodes_in(method, ast.Return):
        parts = each.value.elts if isinstance(each.value, ast.Tuple) else [each.value]
        if any(one is not None and is_name(one, name) for one in parts):
            yield _RETURN


def _is_placed(methods: list[FunctionNode], callee: str) -> bool:
    """Whether what a call gives may be on a device: of a method that says one, or calculates with what it keeps."""
    own = next((each for each in methods if f"self.{each.name}" == callee), None)
    if own is None:
        return _ON_HOST.search(callee.rpartition(".")[2].lower()) is None
    names = {each.name for each in methods}
    words = [each.attr for each in nodes_in(own, ast.Attribute)]
    words += [each.id for each in nodes_in(own, ast.Name)]
    words += [each.arg or "" for each in nodes_in(own, ast.keyword)]
    kept = (each.attr for each in nodes_in(own, ast.Attribute) if is_name(each.value, "self"))
    return not names.issuperset(kept) or any(word in ("cuda", "to") or mentions_device(word) for word in words)


def _is_placed_by_others(machine: Machine, callee: str) -> bool:
    """Whether a class of another file has a method of that name, and speaks of devices."""
    name = callee.rpartition(".")[2]
    project = machine.others.project if machine.others is not None else None
    paths = project.saying((name, "def")) if project is not None else ()
    if paths is None or len(paths) > _MOST_FILES:
        return False
    files = (project.module(each) for each in paths) if project is not None else ()
    owners = (owner for each in files if each is not None for owner in nodes_in(each.tree, ast.ClassDef))
    return any(knows_devices(each) for each in owners if name in {getattr(one, "name", "") for one in each.body})


_MOST_FILES = 20
"""Where more files may define a method, none of them is looked at."""
_ON_HOST = regex(r"token|process|transform|load|read|fetch|sampl|collat|conver|prepar|reset|step|parse|draw|^_*get")
"""Words in the names of what makes tensors of data, on the CPU."""


def _goes_along(left: _Bound, moved: list[_Bound]) -> bool:
    """Whether what stays goes to whom the others go, and nothing moves it, or reads it on the host."""
    counted = is_bookkeeping(left.name) and not any(is_bookkeeping(each.name) for each in moved)
    if counted or is_quantity(left.name) or not is_left_alone(left.method, left.name, left.call.lineno):
        return False
    if any(_is_told_place(each, left.name) for each in nodes_in(left.method, ast.Call)):
        return False
    takers = set(_takers(left.method, left.name, left.call.lineno))
    return any(not takers.isdisjoint(_takers(each.method, each.name, each.call.lineno)) for each in moved)


def _is_told_place(call: ast.Call, name: str) -> bool:
    """Whether a call gets what the name holds, and a place: it may bring it there."""
    given = arguments_of(call)
    named = any(is_name(each, name) for each in given)
    return named and (any(mentions_device(last_name(each)) for each in given) or mentions_device(last_name(call.func)))
