"""One part of several things that a function takes apart alike, of which it moves all other parts (TDL310).

``x, y = batch["train"]`` and ``u, v = batch["test"]``, and then `x`, `y` and `u` are moved, but not `v`, though it goes
on together with the others: what has its place in the first pair is moved. What meets the host stays for a reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchdevlint.flow.checks.forgotten.left_behind import moves_any, record
from torchdevlint.flow.checks.forgotten.left_in_one_case import places, says_place
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.leaving_attributes import leaves
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, words_in
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.used_with_moved import is_left_alone
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, inside, is_name, nodes_in, own_assignments_in

_LEAST_MOVED = 3
_HOST = frozenset({"cpu", "numpy", "np", "tolist", "item", "sklearn", "metrics", "print", "len", "pad", "collate"})


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not moves_any(machine, _LEAST_MOVED):
        return
    for function in functions_that_place(machine.tree):
        if function not in machine.pipeline:
            for left, move in _left_in(function):
                record(machine, function, "beside", left, move, at=left, name=left.id)
            for kept, move in _kept_in(machine.tree, function):
                record(machine, function, "beside", kept, move, at=kept, name=kept.attr)


def _left_in(function: FunctionNode) -> Iterator[tuple[ast.Name, ast.Call]]:
    pairs = list(_pairs(function))
    if len(pairs) < 2:
        return
    moves = dict(_moves(function))
    for arity in {len(each) for each in pairs}:
        alike = [each for each in pairs if len(each) == arity]
        names = [each for pair in alike for each in pair]
        left = [each for each in names if each.id not in moves]
        if len(alike) < 2 or len(left) != 1 or len({each.id for each in names}) != len(names):
            continue
        moved = [moves[each.id] for each in names if each is not left[0]]
        if len({_how(each) for each in moved}) == 1 and _stays_by_mistake(function, left[0], names, moved):
            twin = next(pair[place] for pair in alike for place in _place_in(alike, left[0]) if left[0] not in pair)
            yield left[0], moves[twin.id]


def _kept_in(tree: ast.Module, function: FunctionNode) -> Iterator[tuple[ast.Attribute, ast.Call]]:
    """The same for attributes: ``self.a, self.b = fit(x)``, ``self.c, self.d = fit(y)``, of which one stays.

    Nothing else in the file moves it, or reads it on the host.
    """
    by_maker: dict[str, list[list[ast.Attribute]]] = {}
    for each in own_assignments_in(function):
        target = each.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(each.value, ast.Call):
            held = [one for one in target.elts if isinstance(one, ast.Attribute) and is_name(one.value, "self")]
            if len(held) == len(target.elts) >= 2:
                by_maker.setdefault(ast.unparse(each.value.func), []).append(held)
    moves = dict(_moves_of_attributes(function)) if by_maker else {}
    for alike in by_maker.values():
        kept = [each for pair in alike for each in pair]
        left = [each for each in kept if each.attr not in moves]
        if len(alike) > 1 and len(left) == 1 and len({each.attr for each in kept}) == len(kept):
            beside = next(moves[each.attr] for pair in alike if left[0] in pair for each in pair if each is not left[0])
            if not is_bookkeeping(left[0].attr) and not leaves(tree, left[0].attr):
                yield left[0], beside


def _moves_of_attributes(function: FunctionNode) -> Iterator[tuple[str, ast.Call]]:
    """``self.x = self.x.to(device)``, by the names of the attributes."""
    for each in own_assignments_in(function):
        call, target = each.value, each.targets[0]
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and places(call)):
            continue
        if isinstance(target, ast.Attribute) and dotted_path(target) == dotted_path(call.func.value) is not None:
            yield target.attr, call


def _place_in(pairs: Sequence[Sequence[ast.Name]], name: ast.Name) -> Iterator[int]:
    """The place of a name in its pair."""
    return (place for pair in pairs for place, each in enumerate(pair) if each is name)


def _pairs(function: FunctionNode) -> Iterator[list[ast.Name]]:
    """The names of ``x, y = batch["train"]``, where what is taken apart is a part itself, or what a call gives."""
    for each in own_assignments_in(function):
        target = each.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(each.value, (ast.Subscript, ast.Attribute, ast.Call)):
            names = [one for one in target.elts if isinstance(one, ast.Name)]
            if len(names) == len(target.elts) >= 2:
                yield names


def _moves(function: FunctionNode) -> Iterator[tuple[str, ast.Call]]:
    """``x = x.to(device)``."""
    for each in own_assignments_in(function):
        call = each.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and len(each.targets) == 1:
            target, holder = each.targets[0], call.func.value
            if places(call) and isinstance(target, ast.Name) and is_name(holder, target.id):
                yield target.id, call


def _how(move: ast.Call) -> str:
    return " ".join([move.func.attr, *map(ast.dump, arguments_of(move)[:1])])  # type: ignore[attr-defined]


def _stays_by_mistake(
    function: FunctionNode, left: ast.Name, names: Sequence[ast.Name], moved: Sequence[ast.Call]
) -> bool:
    """Whether it goes on together with what is moved, and nobody else can move it, or wants it on the host."""
    bound = sum(is_bound for _, is_bound, _ in bindings_in(function).get(left.id, ()))
    if bound != 1 or is_bookkeeping(left.id) or not is_left_alone(function, left.id):
        return False
    for call in nodes_in(function, ast.Call):
        if call not in moved and _may_move(call):
            return False
    others = {each.id for each in names if each is not left}
    together = [each for each in _displays(function) if any(is_name(one, left.id) for one in each)]
    read = [each for each in _statements(function) if any(is_name(one, left.id) for one in inside(each))]
    if any(_HOST.intersection(words_in(each)) for each in read):
        return False
    return any(others & {one.id for one in each if isinstance(one, ast.Name)} for each in together)


def _may_move(call: ast.Call) -> bool:
    """Whether a call moves something else than a model, or is told a device."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in torch_api.PLACING_METHODS:
        return not is_named_like_a_model(call.func.value)
    return says_place(call)


def _displays(function: FunctionNode) -> Iterator[Sequence[ast.expr]]:
    """What goes on together: the arguments of a call, and what is returned as a tuple."""
    yield from (arguments_of(each) for each in nodes_in(function, ast.Call))
    yield from (each.value.elts for each in nodes_in(function, ast.Return) if isinstance(each.value, ast.Tuple))


def _statements(function: FunctionNode) -> Iterator[ast.stmt]:
    """The statements of a function that hold no others."""
    for each in inside(function):
        if isinstance(each, ast.stmt) and not hasattr(each, "body"):
            yield each


SAYING = (".to(", ".cuda(")
EVENTS = {FileEnded: _note_end}
