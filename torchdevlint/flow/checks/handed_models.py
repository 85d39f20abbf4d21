"""Models that are made here and moved nowhere, which a function that gets them calls with what was moved (TDL004).

``train(Net(), loader, device)`` moves the batches, and neither it nor who made the model moves that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.left_in_place import asked_for_methods, kept_names, left_alone
from torchdevlint.flow.checks.own_tensors import has_parameters
from torchdevlint.flow.checks.unmoved_models import follows_parameters, meet, was_moved
from torchdevlint.flow.events import ModuleCalled
from torchdevlint.flow.kinds.managed_batches import moves_batches
from torchdevlint.flow.run.modules import where_made
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.scope.names import argument_names, dotted_path, positional_names
from torchdevlint.flow.scope.uses import Scope, bindings_in
from torchdevlint.flow.state.devices import DEFAULT
from torchdevlint.flow.state.machine import Frame, FunctionNode
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Func
from torchdevlint.source.nodes import nodes_in, once_a_node


def _note_call(event: ModuleCalled) -> None:
    """``model(x)``, where `model` is an argument that was made by the caller, and `x` was moved."""
    frame, state, node, module = event.frame, event.state, event.node, event.module
    if module.device != DEFAULT or frame.called_at is None or not isinstance(node.func, ast.Name):
        return
    if frame.machine.default_changed or state.default_device is not None or state.guarded or moves_batches(frame):
        return
    operands = [each for pair in event.arguments.pairs for each in tensor_operands(*pair)]
    moved = [each for each in operands if was_moved(each[1]) and not follows_parameters(frame, each[1])]
    if moved and has_parameters(frame, module) and _stays(frame, node.func.id):
        meet(frame, state, node, node.func, where_made(module), moved[0])


def _stays(frame: Frame, name: str) -> bool:
    """Whether a parameter is a model that neither this function nor those that handed it on have moved.

    Who gets it back has it only afterwards.
    """
    function, called_at = frame.function, frame.called_at
    if called_at is None or function is None or isinstance(function, ast.Lambda) or name not in _left_where(function):
        return False
    call, caller = called_at
    given = given_for(call, function, name) if isinstance(call, ast.Call) else None
    if not isinstance(given, ast.Name):
        return False
    scope = caller.function or caller.machine.tree
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) and given.id in argument_names(scope):
        return _stays(caller, given.id)
    ends: set[ast.AST] = {each.value for each in nodes_in(scope, ast.Return) if each.value is not None}
    return given.id in names_left(caller, scope, ends)


def names_left(frame: Frame, scope: Scope, besides: set[ast.AST]) -> frozenset[str]:
    """The names of models that a scope leaves where it made them, whatever is done where `besides` stand."""
    handed_on = set(_handed_on(frame, scope))
    return kept_names(scope, left_alone(scope) | asked_for_methods(scope) | handed_on | besides)


def given_for(call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.expr | None:
    """What a call gives for a parameter, by name or by its place among those of a function that is no method."""
    by_name = next((each.value for each in call.keywords if each.arg == name), None)
    names = positional_names(function)
    if by_name is not None or name not in names or any(isinstance(each, ast.Starred) for each in call.args):
        return by_name
    place = names.index(name) - (names[0] in ("self", "cls"))
    return call.args[place] if 0 <= place < len(call.args) else None


def _handed_on(frame: Frame, scope: ast.AST) -> Iterator[ast.AST]:
    """The names that are given to functions of the project which leave them where they are."""
    for call in nodes_in(scope, ast.Call):
        called = frame.evaluate(call.func, State({})) if dotted_path(call.func) else None
        if not isinstance(called, Func) or called.receiver is not None or isinstance(called.node, ast.Lambda):
            continue
        for name in _left_where(called.node):
            given = given_for(call, called.node, name)
            if given is not None:
                yield given


@once_a_node
def _left_where(function: FunctionNode) -> frozenset[str]:
    """The parameters that a function never binds, and asks only for what leaves a model where it is."""
    alone = left_alone(function) | asked_for_methods(function)
    bound = {name for name, places in bindings_in(function).items() if any(binds for _, binds, _ in places)}
    given = {each.id for each in nodes_in(function, ast.Name) if each not in alone}
    return argument_names(function) - bound - given


EVENTS = {ModuleCalled: _note_call}
