"""What a method gives a model of its object as it came in, where other methods move the same first (TDL310).

``def predict(self, x): return self.net(x.to(self.device))`` beside ``def score(self, x): return self.net(x).sum()``.
Who calls `score` from the same file may have moved what it gives, unless that came in there as well; what is private is
for such callers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.left_in_one_case import places, says_place
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.annotations import annotated_tensor, without_none
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, parameter_names, places_in
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.machine import Machine
from torchdevlint.source.nodes import arguments_of, is_name, nodes_in

_KEEPS = torch_api.DTYPE_METHODS | frozenset({"clone", "contiguous", "detach", "unsqueeze", "requires_grad_"})


class _Given(NamedTuple):
    """What a method gives a model: the parameter that it is, and the move on the way, if there is one."""

    method: ast.FunctionDef
    parameter: str
    at: ast.expr
    move: ast.Call | None


def look(machine: Machine) -> None:
    """Record what is left so in a file that moves something."""
    for owner in nodes_in(machine.tree, ast.ClassDef):
        by_model: dict[str, list[_Given]] = {}
        for method in owner.body:
            if isinstance(method, ast.FunctionDef) and method.name not in ("__init__", "forward"):
                for model, given in _given_in(method):
                    by_model.setdefault(model, []).append(given)
        for model, held in by_model.items():
            moved = [each for each in held if each.move is not None]
            left = [each for each in held if each.move is None]
            if len(left) == 1 and moved and _is_forgotten(machine.tree, owner, model, left[0], moved):
                move = moved[0].move
                assert move is not None
                record(machine, left[0].method, "twin", left[0].at, move, at=left[0].at, name=left[0].parameter)


def _given_in(method: ast.FunctionDef) -> Iterator[tuple[str, _Given]]:
    """The models of the object that a method calls with an argument of its own in front."""
    for call in nodes_in(method, ast.Call):
        model = dotted_path(call.func) or ""
        if model.startswith("self.") and model.count(".") == 1 and call.args and is_named_like_a_model(call.func):
            found = _parameter(method, call.args[0], 2)
            if found is not None:
                yield model, _Given(method, found[0], call.args[0], found[1])


def _parameter(method: ast.FunctionDef, node: ast.expr, hops: int) -> tuple[str, ast.Call | None] | None:
    """The parameter that an expression is, behind conversions, and the first move on the way; None for others."""
    start, move = _chain(node)
    if not isinstance(start, ast.Name):
        return None
    values = values_by_path(method).get(start.id, [])
    if sum(is_bound for _, is_bound, _ in bindings_in(method).get(start.id, ())) != len(values):
        return None
    others: list[ast.expr] = []
    for each in values:
        stem, moved = _chain(each)
        if is_name(stem, start.id):
            move = moved or move
        else:
            others.append(each)
    if start.id in parameter_names(method):
        return None if others or start.id == "self" else (start.id, move)
    if len(others) != 1 or not hops:
        return None
    found = _parameter(method, others[0], hops - 1)
    return None if found is None else (found[0], found[1] or move)


def _chain(node: ast.expr) -> tuple[ast.expr, ast.Call | None]:
    """What a chain of moves and conversions starts with, and a move in it."""
    move = None
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if places(node):
            move = node
        elif node.func.attr not in _KEEPS and node.func.attr != "to":
            break
        node = node.func.value
    return node, move


def _is_forgotten(tree: ast.Module, owner: ast.ClassDef, model: str, left: _Given, moved: Sequence[_Given]) -> bool:
    """Whether all others go to one place, and nobody in the file may have moved what the one method gets."""
    places = {_place(each.move) for each in moved if each.move is not None}
    if len(places) != 1 or "" in places or left.method in {each.method for each in moved}:
        return False
    if left.method.name.startswith("_") and not left.method.name.endswith("__"):
        return False
    alike = left.parameter in {each.parameter for each in moved}
    if not (alike or _is_told_tensor(left)) or _is_brought_back(owner, model):
        return False
    return all(map(_hands_on, _callers(tree, owner, left.method.name)))


def _place(move: ast.Call) -> str:
    told = places_in(move)
    return "" if told and is_cpu_spec(told[0]) else ast.unparse(told[0]) if told else "cuda"


def _moves(method: ast.FunctionDef) -> bool:
    """Whether a method moves anything itself, or tells anybody where to."""
    calls = nodes_in(method, ast.Call)
    methods = {each.func.attr for each in calls if isinstance(each.func, ast.Attribute)}
    return not methods.isdisjoint(torch_api.PLACING_METHODS - {"cpu"}) or any(map(says_place, calls))


def _is_told_tensor(left: _Given) -> bool:
    spec = left.method.args
    said = next((each.annotation for each in (*spec.args, *spec.kwonlyargs) if each.arg == left.parameter), None)
    return said is not None and annotated_tensor(without_none(said))


def _is_brought_back(owner: ast.ClassDef, model: str) -> bool:
    """Whether a method of the class moves the model to the CPU."""
    moves = [each for each in nodes_in(owner, ast.Call) if isinstance(each.func, ast.Attribute)]
    own = [each for each in moves if dotted_path(each.func.value) == model]  # type: ignore[attr-defined]
    return any(each.func.attr == "cpu" or any(map(is_cpu_spec, places_in(each))) for each in own)  # type: ignore[attr-defined]


def _callers(tree: ast.Module, owner: ast.ClassDef, name: str) -> list[tuple[ast.FunctionDef | None, ast.Call]]:
    """The calls of a method by its name in the file, each with the innermost function around it.

    What the class itself calls on a part of the object is a method of that.
    """
    calls = [each for each in nodes_in(tree, ast.Call) if isinstance(each.func, ast.Attribute)]
    calls = [each for each in calls if each.func.attr == name]  # type: ignore[attr-defined]
    functions = nodes_in(tree, ast.FunctionDef) if calls else []
    found: list[tuple[ast.FunctionDef | None, ast.Call]] = []
    for call in calls:
        inside = owner.lineno <= call.lineno <= (owner.end_lineno or 0)
        if not inside or is_name(call.func.value, "self"):  # type: ignore[attr-defined]
            around = [each for each in functions if each.lineno <= call.lineno <= (each.end_lineno or 0)]
            found.append((around[-1] if around else None, call))
    return found


def _hands_on(caller: tuple[ast.FunctionDef | None, ast.Call]) -> bool:
    """Whether a caller gives nothing but what came in there, and moves nothing."""
    function, call = caller
    if function is None or _moves(function):
        return False
    names = parameter_names(function).difference(values_by_path(function))
    return all(isinstance(each, ast.Name) and each.id in names for each in arguments_of(call))
