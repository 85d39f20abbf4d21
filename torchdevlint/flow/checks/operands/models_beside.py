"""Models that a function is given, which it calls with a tensor that was there and one that it makes (TDL003, TDL014).

``model(x, torch.randint(0, steps, (len(x),)))``: wherever the caller has put the model, it has put `x` beside it, or
this function has moved `x` there. A `DataParallel` takes its inputs as they come.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.operands.unseen_layers import FILLED, is_filled_here
from torchdevlint.flow.events import LayerCalled
from torchdevlint.flow.kinds.managed_batches import moves_batches
from torchdevlint.flow.run.batch_beside import scatters
from torchdevlint.flow.run.operations import combine
from torchdevlint.flow.run.unknown_calls import is_module_by_use
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Tensor, Value

_KEPT = (Origin.ARGUMENT, Origin.EXPRESSION, Origin.MODEL)
_DRAWN = frozenset({"torch.rand", "torch.randn", "torch.randint"})
_SCATTERING = ("DataParallel", "DistributedDataParallel")


def _note_layer(event: LayerCalled) -> None:
    frame, state, node = event.frame, event.state, event.node
    there = [each for each in event.operands if _is_where_the_model_is(each[1])]
    if state.guarded or not there or not _is_given(frame, node.func) or scatters(frame) or moves_batches(frame):
        return
    factories = FILLED if is_module_by_use(frame, node.func) else _DRAWN
    keywords = {id(each.value): each.arg or "" for each in node.keywords}
    made = [each for each in event.operands if is_filled_here(*each, factories, keywords.get(id(each[0])), sized=False)]
    if made and not _is_scattered_elsewhere(frame):
        combine(frame, state, node, f"`{frame.machine.text_of(node.func)}()`", [there[0], *made], True)


def _is_given(frame: Frame, callee: ast.expr) -> bool:
    """Whether it is a parameter, or kept from one of the constructor, and a Module by what is said or asked of it.

    A model's name says so as well, beside what is drawn at random: numbers in a row may be positions on the CPU.
    """
    path, function = dotted_path(callee) or "", frame.function
    if path.startswith("self.") and frame.owner is not None:
        init = frame.owner.methods.get("__init__")
        kept = values_by_path(frame.owner.node).get(path, [])
        given = parameter_names(init) if init is not None else frozenset[str]()
        is_own = bool(kept) and all(isinstance(each, ast.Name) and each.id in given for each in kept)
    elif isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        is_bound_anew = any(is_bound for _, is_bound, _ in bindings_in(function).get(path, ()))
        is_own = path in parameter_names(function) and not is_bound_anew
    else:
        return False
    return is_own and (is_module_by_use(frame, callee) or is_named_like_a_model(callee))


def _is_where_the_model_is(value: Value) -> bool:
    """Whether a tensor came with the call, or was put on a device that is kept, whatever it may be."""
    held = [each for _, each in alternatives(value)]
    return bool(held) and all(isinstance(each, Tensor) and each.device.origin in _KEPT for each in held)


def _is_scattered_elsewhere(frame: Frame) -> bool:
    """Whether another file of the project speaks of what brings inputs to where a model is."""
    others = frame.machine.others
    return others is not None and any(others.project.saying((each,)) != () for each in _SCATTERING)


EVENTS = {LayerCalled: _note_layer}
