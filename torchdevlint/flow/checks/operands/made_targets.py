"""Targets that are made on the default device for a loss of unknown class: ``criterion(model(x), torch.ones(n, 1))``.

A loss compares two tensors of one place, and what a model of unknown class gives is where its input was put.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.events import LayerCalled, MethodCalled
from torchdevlint.flow.run.foreign_losses import may_bring_targets
from torchdevlint.flow.run.operations import Operands, combine
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.model_names import is_named_like_a_loss, is_named_like_a_model, is_short_for_a_loss
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names, variable_of
from torchdevlint.flow.state.devices import DEFAULT, Origin, on_cpu
from torchdevlint.flow.state.joins import distribute
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import UNKNOWN, Choice, Tensor, Unknown, Value
from torchdevlint.patterns import regex

_PLACED = frozenset({Origin.EXPRESSION, Origin.ARGUMENT, Origin.LITERAL})
_MOVED = _PLACED - {Origin.ARGUMENT}
_BRINGS_TARGETS = frozenset({"ctc_loss", "CTCLoss", "RNNTLoss"})
"""Losses that take their targets on the CPU."""
_IS_A_STEP = regex(r"losses|log|(?:comp|calc|get|train|step|eval|updat|add|make|forward|weight|scal)\w*_")
"""Words of functions that run a model themselves, or keep what they are given."""


def _note_call(event: LayerCalled) -> None:
    is_short = is_short_for_a_loss(event.layer)
    if is_short or is_named_like_a_loss(event.layer):
        places = _MOVED if is_short or _is_wrapped(event.frame, event.node.func) else _PLACED
        _look(event.frame, event.state, event.node, event.operands, places)


def _is_wrapped(frame: Frame, loss: ast.expr) -> bool:
    """Whether it is a loss that the constructor was given: who wraps any loss has some that move their targets."""
    init = frame.owner.methods.get("__init__") if frame.owner is not None else None
    kept = values_by_path(init).get(dotted_path(loss) or "", []) if init is not None else []
    return init is not None and any(isinstance(each, ast.Name) and each.id in parameter_names(init) for each in kept)


def _note_kept(event: MethodCalled) -> None:
    """``trainer.criterion(trainer.model(x), target)``: a loss that another object keeps."""
    callee = event.node.func
    if type(event.receiver) is Unknown and is_named_like_a_loss(callee) and last_name(callee) != "loss":
        operands = [each for given in event.arguments.pairs for each in tensor_operands(*given)]
        _look(event.frame, event.state, event.node, operands, _PLACED)


def _look(frame: Frame, state: State, node: ast.Call, operands: Operands, places: frozenset[Origin]) -> None:
    """Compare a target with what is in one of `places`."""
    if _IS_A_STEP.search(last_name(node.func)) or not frame.machine.words.isdisjoint(_BRINGS_TARGETS):
        return
    given = [(at, value) for at, value in operands if at in node.args[:2]]
    if isinstance(node.func, ast.Subscript) and any(_is_put_there(value) for _, value in given):
        return  # a function of a table may move what it is given
    is_compared = len(given) == 2 and sum(_is_made(value) for _, value in given) == 1
    if is_compared and not may_bring_targets(frame, state, node.func):
        compared = [(at, _compared(frame, state, at, value, places)) for at, value in given]
        combine(frame, state, node, f"`{frame.machine.text_of(node.func)}()`", compared, True)


def _is_made(value: Value) -> bool:
    return isinstance(value, Tensor) and value.device == DEFAULT and bool(value.creations) and value.ndim != 0


def _is_put_there(value: Value) -> bool:
    return isinstance(value, Tensor) and value.moved and value.device.origin in _MOVED and not on_cpu(value.device)


def _compared(frame: Frame, state: State, node: ast.expr, value: Value, places: frozenset[Origin]) -> Value:
    if isinstance(value, Choice):
        return distribute(value, lambda each: _as_output(frame, state, node, each, places))
    return _as_output(frame, state, node, value, places)


def _as_output(frame: Frame, state: State, node: ast.expr, value: Value, places: frozenset[Origin]) -> Value:
    """What something unknown made of a tensor in one of some places, as the tensor that a loss takes it for.

    What is known is an argument, what a model or Module gives, or was made or put where the code says.
    """
    if isinstance(value, Tensor) and value.opaque:
        return _given_by_model(frame, state, node, value) or _given_by_placed(node, value)
    if not isinstance(value, Unknown):
        is_argument = isinstance(value, Tensor) and value.device.origin in places and not value.moved
        return value if is_argument or _is_made(value) or _is_put_there(value) else UNKNOWN
    if value.given is None:
        return _given_by_model(frame, state, node, value) or value
    return given_tensor(value.given, node) if value.given.origin in places else value


def _given_by_model(frame: Frame, state: State, node: ast.expr, output: Value) -> Value | None:
    """What ``out = self.model(x)`` is bound to, or the call itself, where `x` was moved: a model is there as well."""
    scope = frame.function or frame.machine.tree
    variable = variable_of(node)
    made = [node] if variable is None else values_by_path(scope).get(variable, [])
    calls = [each for each in made if isinstance(each, ast.Call) and each.args and is_named_like_a_model(each.func)]
    if not calls or len(calls) < len(made):
        return None
    if isinstance(output, Tensor) and output.device.origin in _MOVED and not on_cpu(output.device):
        return given_tensor(output.device, node)
    given = [frame.evaluate(each.args[0], state) for each in calls]
    places = {each.device if isinstance(each, Tensor) and each.moved else None for each in given}
    place = places.pop() if len(places) == 1 else None
    return given_tensor(place, node) if place is not None and place.origin in _MOVED else None


def _given_by_placed(node: ast.expr, output: Tensor) -> Value:
    """What a Module of unknown class gives that the code has put somewhere, whatever it is called."""
    placed = output.device.origin in _MOVED and not on_cpu(output.device) and not output.moved
    return given_tensor(output.device, node) if placed else UNKNOWN


EVENTS = {LayerCalled: _note_call, MethodCalled: _note_kept}
