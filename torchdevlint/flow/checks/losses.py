"""Losses with a weight, and metrics: Modules that are easily forgotten when the model is moved (TDL010)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from torchdevlint.flow import torch_api
from torchdevlint.flow.calling.arguments import Arguments
from torchdevlint.flow.calling.tensor_methods import tensor_operands
from torchdevlint.flow.facts.common import Operand
from torchdevlint.flow.facts.losses import LossNotMoved
from torchdevlint.flow.state.devices import CPU, DEFAULT, Origin, Relation, relation
from torchdevlint.flow.state.joins import alternatives, only
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import (
    NONE,
    Choice,
    Const,
    Library,
    Map,
    Obj,
    Partial,
    Seq,
    Tensor,
    Value,
)
from torchdevlint.flow.transfer.operations import Operands, check
from torchdevlint.flow.vouch.devices import device_at, remember, remembered

_COLLECTION = "torchmetrics.MetricCollection"
_KINDS_OF_TASK = ("Binary", "Multiclass", "Multilabel")
_HANDS_ON = frozenset({"setattr", "map", "filter", "vars"})
"""Builtins that may end in a move of what they are given."""


def weight_of(tail: str, arguments: Arguments) -> tuple[ast.expr, Tensor] | None:
    """The tensor that a loss of torch.nn keeps as a buffer, with the argument that gives it."""
    for name, position in torch_api.LOSS_WEIGHTS.get(tail, {}).items():
        given = arguments.get(position, name)
        weight = None if given is None else only(given[1], Tensor)
        if given is None or weight is None:
            continue
        others = [each for _, each in alternatives(given[1]) if each is not weight]
        if all(each == NONE for each in others) and (weight.ndim or tail not in torch_api.ELEMENTWISE_LOSSES):
            return given[0], weight
    return None


def is_metric(name: str) -> bool:
    """Whether it is a class of torchmetrics that keeps its sums in tensors, or a collection of such."""
    root, _, rest = name.partition(".")
    tail = rest.rpartition(".")[2]
    for kind in _KINDS_OF_TASK:
        tail = tail.removeprefix(kind)
    return root == "torchmetrics" and (tail in torch_api.METRICS or tail == "MetricCollection")


def make_metric(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> Library | None:
    """A metric on the default device, or a collection, which registers those that it is given."""
    if frame.machine.default_changed or state.default_device is not None:
        return None
    remember(frame, state, node)
    if name.endswith("MetricCollection"):
        given = [each for value in arguments.values for each in _modules_in(value)]
        note_moved(frame.machine, arguments.values)
        held = any(isinstance(each, Library) and is_metric(each.name) for each in given)
        return Library(_COLLECTION, True, DEFAULT, made_at=node) if held else None
    if arguments.keyword_values.get("multidim_average", NONE) not in (NONE, Const("global")):
        return None
    return Library(name, True, DEFAULT, made_at=node)


def note_call(frame: Frame, state: State, node: ast.Call, module: Library, operands: Operands) -> None:
    """A loss with a weight, or a metric, is called: what it keeps has to be where its operands are."""
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


def _note_update(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``metric.update(output, target)``."""
    for _, each in alternatives(receiver, state.conditions):
        if isinstance(each, Library) and is_metric(each.name):
            operands = [one for given in arguments.pairs for one in tensor_operands(*given)]
            note_call(frame, state, node, each, operands)


METHODS = {"update": _note_update}


_MAY_HOLD = (Library, Choice, Seq, Map, Partial)
"""Values that are, or may hold, modules of a library."""


def note_moved(machine: Machine, values: list[Value]) -> None:
    """These values are moved, registered in a Module, or given to something that may do so."""
    for value in values:
        for each in _modules_in(value) if isinstance(value, _MAY_HOLD) else ():
            if each.made_at is not None:
                machine.moved.add(("loss", each.made_at))


def note_builtin(machine: Machine, name: str, arguments: Arguments) -> None:
    if name in _HANDS_ON:
        note_moved(machine, arguments.values)


def note_assigned(machine: Machine, receiver: Value, value: Value) -> None:
    """``receiver.name = value``: a Module registers it, and a base that is not known here may move it."""
    if isinstance(receiver, Library):
        note_moved(machine, [receiver])
    elif isinstance(receiver, Obj) and (receiver.info.is_module or not receiver.info.resolved):
        note_moved(machine, [value])


def _modules_in(value: Value, depth: int = 3) -> Iterator[Library]:
    """The library modules that a value is, may be, wraps or holds."""
    parts: tuple[Value, ...] = ()
    if isinstance(value, Library):
        yield value
        parts = (*value.children, *([] if value.inner is None else [value.inner]))
    elif isinstance(value, Choice):
        parts = tuple(each for _, each in value.alternatives)
    elif isinstance(value, Seq):
        parts = (*(value.items or ()), *value.members, value.element)
    elif isinstance(value, Map):
        parts = (*(each for _, each in value.items), value.element)
    elif isinstance(value, Partial):
        parts = (value.function,)
    for each in parts if depth else ():
        yield from _modules_in(each, depth - 1)
