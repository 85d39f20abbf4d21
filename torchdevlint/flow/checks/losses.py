"""Losses with a weight, and metrics: Modules that are easily forgotten when the model is moved (TDL010)."""

from __future__ import annotations

import ast
from functools import partial

from torchdevlint.flow.events import AttributeAssigned, Escaped, ModuleCompared, ModuleMethodCalled
from torchdevlint.flow.facts.common import Operand
from torchdevlint.flow.facts.losses import LossNotMoved
from torchdevlint.flow.run.metrics import is_metric
from torchdevlint.flow.run.operations import Operands, check
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import CPU, DEFAULT, Origin, Relation, relation
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import modules_in
from torchdevlint.flow.state.values import (
    Choice,
    Library,
    Map,
    Obj,
    Partial,
    Seq,
    Tensor,
    Value,
)
from torchdevlint.flow.vouch.devices import device_at, remembered

_HANDING_ON = ("builtins.setattr", "builtins.map", "builtins.filter", "builtins.vars")
"""Builtins that may end in a move of what they are given."""


def _note_called(event: ModuleCompared) -> None:
    """A loss with a weight, or a metric, is called."""
    _compare(event.frame, event.state, event.node, event.module, event.operands)


def _compare(frame: Frame, state: State, node: ast.Call, module: Library, operands: Operands) -> None:
    """What it keeps has to be where its operands are."""
    made = module.made_at
    if made is None or module.device not in (DEFAULT, CPU):
        return
    for at, value in operands:
        for _, each in alternatives(value, state.conditions):
            if not isinstance(each, Tensor) or relation(module.device, each.device) is not Relation.DIFFER:
                continue
            if module.device == CPU and each.device.origin is Origin.MODEL and frame.context != "forward":
                continue
            if module.held is not None and _is_kept_by_module(module.held[1]):
                check(frame, state, node, "`" + frame.machine.text_of(node.func) + "()`", module.held, (at, each), True)
                continue
            argument = each.device.name if each.device.origin is Origin.ARGUMENT else None
            make = partial(_fact, frame, node, made, module, at, each)
            frame.machine.record(("loss", made), make, state, argument)


def _is_kept_by_module(weight: Tensor) -> bool:
    """Whether an attribute of a Module holds it that is not registered: that attribute is the cause."""
    return any(site.where == "init" for site in weight.creations)


def _fact(frame: Frame, node: ast.Call, made: ast.AST, module: Library, at: ast.expr, other: Tensor) -> LossNotMoved:
    machine = frame.machine
    text, device = machine.text_of(at), other.device
    if device.origin is Origin.EXPRESSION:
        target = device.name
    elif device.origin is Origin.LITERAL:
        target = repr(device.describe()).replace("'", '"')
    else:
        target = f"{text}.device" if text.isidentifier() else ""
    around = remembered(frame, made)
    named = None if around is None else device_at(frame, around, made, device, target, node)
    named = target if named is None and device.origin is Origin.LITERAL else named
    held = module.held
    return LossNotMoved(
        machine.span_of(made),
        module.name,
        machine.text_of(made),
        None if held is None else machine.text_of(held[0]),
        () if held is None else machine.evidence(held[1].steps),
        machine.text_of(node.func),
        machine.span_of(node),
        Operand(text, device.describe(), machine.span_of(at), machine.evidence(other.steps)),
        named or target,
        named is not None,
    )


def _note_update(event: ModuleMethodCalled) -> None:
    """``metric.update(output, target)``."""
    if event.name == "update" and isinstance(event.module, Library) and is_metric(event.module.name):
        operands = [each for given in event.arguments.pairs for each in tensor_operands(*given)]
        _compare(event.frame, event.state, event.node, event.module, operands)


_MAY_HOLD = (Library, Choice, Seq, Map, Partial)
"""Values that are, or may hold, modules of a library."""


def _note_escaped(event: Escaped) -> None:
    _leave(event.frame.machine, event.values)


def _leave(machine: Machine, values: list[Value]) -> None:
    """Nothing is said of what these values hold, which may be moved."""
    for value in values:
        for each in modules_in(value) if isinstance(value, _MAY_HOLD) else ():
            if each.made_at is not None:
                machine.explain(("loss", each.made_at))


def _note_builtin(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    _leave(frame.machine, arguments.values)


def _note_assigned(event: AttributeAssigned) -> None:
    """``receiver.name = value``: a Module registers it, and a base that is not known here may move it."""
    receiver = event.receiver
    if isinstance(receiver, Library):
        _leave(event.frame.machine, [receiver])
    elif isinstance(receiver, Obj) and (receiver.info.is_module or not receiver.info.resolved):
        _leave(event.frame.machine, [event.value])


FUNCTIONS = dict.fromkeys(_HANDING_ON, _note_builtin)
EVENTS = {
    ModuleCompared: _note_called,
    ModuleMethodCalled: _note_update,
    Escaped: _note_escaped,
    AttributeAssigned: _note_assigned,
}
