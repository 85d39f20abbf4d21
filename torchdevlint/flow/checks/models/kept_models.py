"""Models that are made here and moved nowhere, and an object that keeps one calls with what was moved (TDL004).

``Trainer(net, loader, device).fit()``: neither the class of the trainer moves the model nor who makes both. Where the
class is in the file as well, what it calls is known by what its constructor is given.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.models.left_by_others import given_for, names_left
from torchdevlint.flow.checks.models.left_in_place import asked_for_methods, left_alone, stays
from torchdevlint.flow.checks.models.own_tensors import has_parameters
from torchdevlint.flow.checks.models.unmoved_models import follows_parameters, meet, tells_of_models, was_moved
from torchdevlint.flow.events import ModuleCalled
from torchdevlint.flow.run.modules import where_made
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import positional_names
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.devices import DEFAULT
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Library, Obj, Value
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import is_below, nodes_in


def _note_call(event: ModuleCalled) -> None:
    """``self.model(x)``, where the constructor was given the model, and `x` was moved."""
    frame, state, node, callee = event.frame, event.state, event.node, event.node.func
    if event.module.device is not None or frame.called_at is None or not isinstance(callee, ast.Attribute):
        return
    if not tells_of_models(frame, state):
        return
    keeper = frame.evaluate(callee.value, state) if isinstance(callee.value, ast.Name) else None
    if not isinstance(keeper, Obj) or keeper.info is not frame.owner:
        return
    operands = [each for pair in event.arguments.pairs for each in tensor_operands(*pair)]
    moved = [each for each in operands if was_moved(each[1]) and not follows_parameters(frame, each[1])]
    model = _kept(frame, keeper, callee) if moved else None
    if model is not None and has_parameters(frame, model):
        meet(frame, state, node, callee, where_made(model), moved[0])


def _kept(frame: Frame, keeper: Obj, attribute: ast.Attribute) -> Library | Obj | None:
    """The model that an attribute holds as the constructor was given it, if nobody moves it before or afterwards."""
    found = keeper.info.all_methods.get("__init__")
    if found is None or not isinstance(keeper.made_at, ast.Call) or not stays(frame, f"self.{attribute.attr}"):
        return None
    init = found[1]
    bound = values_by_path(init).get(f"self.{attribute.attr}", [])
    if len(bound) != 1 or not isinstance(bound[0], ast.Name) or not _leaves(init, bound[0]):
        return None
    model = _argument(keeper, init, bound[0].id)
    if not isinstance(model, (Library, Obj)) or model.device != DEFAULT:
        return None
    given = given_for(keeper.made_at, init, bound[0].id)
    return model if isinstance(given, ast.Name) and _is_left(frame, keeper.made_at, given) else None


def _leaves(init: FunctionNode, kept: ast.Name) -> bool:
    """Whether a constructor does nothing to a model but to keep it, and asks it only for what leaves it where it is."""
    alone = left_alone(init) | asked_for_methods(init) | {kept}
    rebound = any(binds for _, binds, _ in bindings_in(init).get(kept.id, ()))
    return not rebound and all(each in alone for each in nodes_in(init, ast.Name) if each.id == kept.id)


def _argument(keeper: Obj, init: FunctionNode, name: str) -> Value | None:
    positional, keywords = keeper.made_of or ((), ())
    by_place = dict(zip(positional_names(init)[1:], positional, strict=False))
    return {**by_place, **dict(keywords)}.get(name)


def _is_left(frame: Frame, made: ast.Call, given: ast.Name) -> bool:
    """Whether the function that makes the object leaves the model alone that it gives it."""
    while frame.called_at is not None:
        _, frame = frame.called_at
        scope = frame.function or frame.machine.tree
        if isinstance(scope, ast.Lambda) or not is_below(made, scope):
            continue
        return given.id in names_left(frame, scope, {given})
    return False


EVENTS = {ModuleCalled: _note_call}
