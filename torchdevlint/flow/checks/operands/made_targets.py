"""Targets that are made on the default device for a loss of unknown class: ``criterion(model(x), torch.ones(n, 1))``.

A loss compares two tensors of one place, and what a model of unknown class gives is where its input was put.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.events import LayerCalled
from torchdevlint.flow.run.operations import combine
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.model_names import is_named_like_a_loss, is_named_like_a_model, is_short_for_a_loss
from torchdevlint.flow.scope.names import last_name, variable_of
from torchdevlint.flow.state.devices import DEFAULT, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import UNKNOWN, Tensor, Unknown, Value
from torchdevlint.patterns import regex

_PLACED = frozenset({Origin.EXPRESSION, Origin.ARGUMENT, Origin.LITERAL})
_MOVED = _PLACED - {Origin.ARGUMENT}
_BRINGS_TARGETS = frozenset({"ctc_loss", "CTCLoss", "RNNTLoss"})
"""Losses that take their targets on the CPU."""
_IS_A_STEP = regex(r"losses|log|(?:comp|calc|get|train|step|eval|updat|add|make|forward|weight|scal)\w*_")
"""Words of functions that run a model themselves, or keep what they are given."""


def _note_call(event: LayerCalled) -> None:
    frame, node = event.frame, event.node
    is_short = is_short_for_a_loss(event.layer)
    if not (is_short or is_named_like_a_loss(event.layer)) or _IS_A_STEP.search(last_name(event.layer)):
        return
    if not frame.machine.words.isdisjoint(_BRINGS_TARGETS):
        return
    given = [(at, value) for at, value in event.operands if at in node.args[:2]]
    if len(given) == 2 and sum(_is_made(value) for _, value in given) == 1:
        places = _MOVED if is_short else _PLACED
        compared = [(at, _as_output(frame, event.state, at, value, places)) for at, value in given]
        combine(frame, event.state, node, f"`{frame.machine.text_of(node.func)}()`", compared, True)


def _is_made(value: Value) -> bool:
    return isinstance(value, Tensor) and value.device == DEFAULT and bool(value.creations) and value.ndim != 0


def _as_output(frame: Frame, state: State, node: ast.expr, value: Value, places: frozenset[Origin]) -> Value:
    """What something unknown made of a tensor in one of some places, as the tensor that a loss takes it for.

    What is known is no output, but for what is by its name a model gives.
    """
    if isinstance(value, Tensor) and value.opaque:
        return _given_by_model(frame, state, node) or UNKNOWN
    if not isinstance(value, Unknown):
        return value if _is_made(value) else UNKNOWN
    if value.given is None:
        return _given_by_model(frame, state, node) or value
    return given_tensor(value.given, node) if value.given.origin in places else value


def _given_by_model(frame: Frame, state: State, node: ast.expr) -> Value | None:
    """What ``out = self.model(x)`` is bound to, or the call itself, where `x` was moved: a model is there as well."""
    scope = frame.function or frame.machine.tree
    variable = variable_of(node)
    made = [node] if variable is None else values_by_path(scope).get(variable, [])
    calls = [each for each in made if isinstance(each, ast.Call) and each.args and is_named_like_a_model(each.func)]
    if not calls or len(calls) < len(made):
        return None
    given = [frame.evaluate(each.args[0], state) for each in calls]
    places = {each.device if isinstance(each, Tensor) and each.moved else None for each in given}
    place = places.pop() if len(places) == 1 else None
    return given_tensor(place, node) if place is not None and place.origin in _MOVED else None


EVENTS = {LayerCalled: _note_call}
