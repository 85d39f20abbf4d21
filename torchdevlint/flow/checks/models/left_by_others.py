"""Models that a scope hands to others who leave them where they are: functions of the project, and some of libraries.

A function leaves its parameter alone if it never binds it, asks it only for what leaves a model in its place, and hands
it to nobody but such functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.models.left_in_place import asked_for_methods, kept_names, left_alone
from torchdevlint.flow.knowledge.libraries import LEAVES_MODELS
from torchdevlint.flow.run.imports import resolve
from torchdevlint.flow.scope.names import dotted_path, parameter_names, positional_names
from torchdevlint.flow.scope.uses import Scope, bindings_in
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Func, Ref, Value
from torchdevlint.source.functions import AnyFunction, FunctionNode
from torchdevlint.source.nodes import arguments_of, keyword_of, nodes_in, once_a_node

_MAX_HOPS = 3
"""Over so many functions that hand a model on it is followed."""


def names_left(frame: Frame, scope: Scope, besides: set[ast.AST], of_known_class: bool = True) -> frozenset[str]:
    """The names of models that a scope leaves where it made them, whatever is done where `besides` stand.

    The methods of a model of known class, which moves nothing, do not move it either.
    """
    asked = asked_for_methods(scope) if of_known_class else set()
    handed_on = {given for call in nodes_in(scope, ast.Call) for given in _handed_on(frame, call)}
    return kept_names(scope, left_alone(scope) | asked | handed_on | besides)


def leaves_parameter(frame: Frame, function: Func, name: str) -> bool:
    """Whether a function leaves the model that it gets under this name where it is."""
    return name in _left_by(frame, function, _MAX_HOPS)


def given_for(call: ast.Call, function: FunctionNode, name: str) -> ast.expr | None:
    """What a call gives for a parameter, by name or by its place among those of a function that is no method."""
    by_name = keyword_of(call, name)
    names = positional_names(function)
    if by_name is not None or name not in names or any(isinstance(each, ast.Starred) for each in call.args):
        return by_name
    place = names.index(name) - (names[0] in ("self", "cls"))
    return call.args[place] if 0 <= place < len(call.args) else None


def _handed_on(frame: Frame, call: ast.Call) -> Iterator[ast.AST]:
    """The names that a call gives to a function which leaves them where they are."""
    if not any(isinstance(each, ast.Name) for each in arguments_of(call)):
        return
    called = frame.evaluate(call.func, State({})) if dotted_path(call.func) else None
    yield from _given_to(frame, call, called, _MAX_HOPS)


def _given_to(frame: Frame, call: ast.Call, called: Value | None, hops: int) -> Iterator[ast.AST]:
    if isinstance(called, Ref) and called.name in LEAVES_MODELS:
        yield from call.args
    if not isinstance(called, Func) or called.receiver is not None or isinstance(called.node, ast.Lambda):
        return
    for name in _left_by(frame, called, hops):
        given = given_for(call, called.node, name)
        if given is not None:
            yield given


def _left_by(frame: Frame, function: Func, hops: int) -> frozenset[str]:
    """The parameters that a function leaves where they are, as do the functions that it hands them on to."""
    alone, elsewhere = _left_where(function.node)
    if not elsewhere or not hops or isinstance(function.node, ast.Lambda):
        return alone
    known = function.closure.scopes[-1] if function.closure.scopes else {}
    own = {name for name, places in bindings_in(function.node).items() if any(binds for _, binds, _ in places)}
    left: set[ast.AST] = set()
    for call in nodes_in(function.node, ast.Call):
        if isinstance(call.func, ast.Name) and call.func.id not in own and _gives_any(call, elsewhere):
            bound = known.get(call.func.id)
            called = Ref(f"builtins.{call.func.id}") if bound is None else resolve(frame, bound)
            if called != function:
                left.update(_given_to(frame, call, called, hops - 1))
    return alone | {name for name, places in elsewhere.items() if left.issuperset(places)}


def _gives_any(call: ast.Call, names: dict[str, list[ast.AST]]) -> bool:
    given = arguments_of(call)
    return any(isinstance(each, ast.Name) and each.id in names for each in given)


@once_a_node
def _left_where(function: AnyFunction) -> tuple[frozenset[str], dict[str, list[ast.AST]]]:
    """The parameters that a function never binds, and asks only for what leaves a model where it is.

    And those of which it does more than that, each with the places where it does.
    """
    alone = left_alone(function) | asked_for_methods(function)
    bound = {name for name, places in bindings_in(function).items() if any(binds for _, binds, _ in places)}
    elsewhere: dict[str, list[ast.AST]] = {}
    for each in nodes_in(function, ast.Name):
        if each not in alone and each.id in parameter_names(function) - bound:
            elsewhere.setdefault(each.id, []).append(each)
    return (parameter_names(function) - bound).difference(elsewhere), elsewhere
