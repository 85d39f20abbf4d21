"""Models that are made here and moved nowhere, which a function that gets them calls with what was moved (TDL004).

``train(Net(), loader, device)`` moves the batches, and neither it nor who made the model moves that.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.models.left_by_others import given_for, leaves_parameter, names_left
from torchdevlint.flow.checks.models.own_tensors import has_parameters
from torchdevlint.flow.checks.models.unmoved_models import follows_parameters, meet, tells_of_models, was_moved
from torchdevlint.flow.events import ModuleCalled
from torchdevlint.flow.run.modules import where_made
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.scope.names import parameter_names
from torchdevlint.flow.state.devices import DEFAULT
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Func
from torchdevlint.source.nodes import nodes_in


def _note_call(event: ModuleCalled) -> None:
    """``model(x)``, where `model` is an argument that was made by the caller, and `x` was moved."""
    frame, state, node, module = event.frame, event.state, event.node, event.module
    if module.device != DEFAULT or frame.called_at is None or not isinstance(node.func, ast.Name):
        return
    if not tells_of_models(frame, state):
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
    if called_at is None or function is None or isinstance(function, ast.Lambda):
        return False
    if not leaves_parameter(frame, Func(function, frame.closure, frame.scope), name):
        return False
    call, caller = called_at
    given = given_for(call, function, name) if isinstance(call, ast.Call) else None
    if not isinstance(given, ast.Name):
        return False
    scope = caller.function or caller.machine.tree
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) and given.id in parameter_names(scope):
        return _stays(caller, given.id)
    ends: set[ast.AST] = {each.value for each in nodes_in(scope, ast.Return) if each.value is not None}
    return given.id in names_left(caller, scope, ends)


EVENTS = {ModuleCalled: _note_call}
