"""A loss that keeps a weight, or a metric, is never moved to where it is used.

## What it does
Finds losses of `torch.nn` that are given a tensor of the CPU (`nn.CrossEntropyLoss(weight=w)`,
`nn.BCEWithLogitsLoss(pos_weight=w)`) and metrics of torchmetrics that add up in tensors of their own
(`torchmetrics.Accuracy(..)`), which are called with tensors of an accelerator and which nothing in the file moves. The
report starts where the loss or metric is made.

## Why is this bad?
A loss is a Module, its weight is a buffer, and nothing moves it along with the model: it belongs to no other Module.
The first batch on an accelerator raises

    RuntimeError: Expected all tensors to be on the same device, but got weight is on cpu, different from other tensors
    on cuda:0 (when checking argument in method wrapper_CUDA_nll_loss_forward)

or, for losses that multiply by their weight,

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

A metric says so itself:

    RuntimeError: Encountered different devices in metric calculation (see stacktrace for details). This could be due to
    the metric class not being on the same device as input. Instead of `metric=MulticlassAccuracy(...)` try to do
    `metric=MulticlassAccuracy(...).to(device)` where device corresponds to the device of the input.

## Example
```python
def train(model, batches, device):
    model.to(device)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([0.2, 0.8]))
    for x, y in batches:
        x, y = x.to(device), y.to(device)
        criterion(model(x), y).backward()
```

## Use instead
```python
def train(model, batches, device):
    model.to(device)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([0.2, 0.8])).to(device)
    for x, y in batches:
        x, y = x.to(device), y.to(device)
        criterion(model(x), y).backward()
```
`torch.tensor([0.2, 0.8], device=device)` does the same. A loss or metric that is an attribute of the model moves with
it.

## Fix safety
The fix is unsafe: it appends `.to(..)` where the loss is made, with the device of what it is called with, which the
author may want to choose elsewhere. There is no fix where the name for that device is not surely bound there.

## What it cannot see
Weights and outputs whose device is not known, as after `w = torch.tensor(values)` of unknown values, which may be a
tensor of the accelerator, and losses of other libraries that hold parameters. It is silent for what is an attribute of
a Module, for a loss or metric that is moved anywhere in the file, that goes through a loop together with others, or
that is given to a function of another file, which may move it. A 0-dim `pos_weight` of the CPU is right, and a metric
that only collects what it is given (`AUROC()` without thresholds) has nothing to move.

## References
- [torch.nn.CrossEntropyLoss](https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html)
- [Metrics and devices](https://lightning.ai/docs/torchmetrics/stable/pages/overview.html#metrics-and-devices)
- pytorch/pytorch#122757, pytorch/pytorch#3879, sacdallago/biotrainer#67, Lightning-AI/torchmetrics#608,
  Lightning-AI/torchmetrics#340
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from torchdevlint.flow.events import AttributeAssigned, Escaped, ModuleCompared, ModuleMethodCalled
from torchdevlint.flow.facts.common import Operand
from torchdevlint.flow.facts.modules import LossNotMoved
from torchdevlint.flow.kinds.parameters import came_as_argument
from torchdevlint.flow.run import operations
from torchdevlint.flow.run.metrics import is_metric
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
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import call_added, fix
from torchdevlint.rules.wording import code, edit

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""A loss keeps its weight on the CPU while the model and its outputs are on the accelerator."""
import torch

NEEDS = "accelerator"
RAISES = {"RuntimeError": ["Expected all tensors to be on the same device"]}


def flagged(device, move=lambda criterion: criterion):
    output = torch.nn.Linear(2, 3).to(device)(torch.ones(4, 2, device=device))
    criterion = move(torch.nn.CrossEntropyLoss(weight=torch.ones(3)))
    loss = criterion(output, torch.zeros(4, dtype=torch.long, device=device))
    return {"loss": str(loss.device)}


def repaired(device):
    return flagged(device, lambda criterion: criterion.to(device))
'''


_HANDING_ON = ("builtins.setattr", "builtins.map", "builtins.filter", "builtins.vars")
"""Builtins that may end in a move of what they are given."""


def _note_called(event: ModuleCompared) -> None:
    """A loss with a weight, or a metric, is called."""
    _compare(event.frame, event.state, event.node, event.module, event.operands)


def _compare(frame: Frame, state: State, node: ast.Call, module: Library, operands: operations.Operands) -> None:
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
                called = f"`{frame.machine.text_of(node.func)}()`"
                operations.check(frame, state, node, called, module.held, (at, each), strict=True)
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
        came_as_argument(frame, other),
        by_default=module.device == DEFAULT,
    )


def _note_update(event: ModuleMethodCalled) -> None:
    """``metric.update(output, target)``."""
    if event.name == "update" and isinstance(event.module, Library) and is_metric(event.module.name):
        operands = [each for given in event.arguments.pairs for each in tensor_operands(*given)]
        _compare(event.frame, event.state, event.node, event.module, operands)


_MAY_HOLD = frozenset({Library, Choice, Seq, Map, Partial})
"""Values that are, or may hold, modules of a library."""


def _note_escaped(event: Escaped) -> None:
    _leave(event.frame.machine, event.values)


def _leave(machine: Machine, values: list[Value]) -> None:
    """Nothing is said of what these values hold, which may be moved."""
    for value in values:
        for each in modules_in(value) if type(value) in _MAY_HOLD else ():
            if each.made_at is not None:
                machine.explain(("loss", each.made_at))


def _note_builtin(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    _leave(frame.machine, arguments.values)


def _note_assigned(event: AttributeAssigned) -> None:
    """``receiver.name = value``: a Module registers it, and a base that is not known here may move it."""
    receiver = event.receiver
    if isinstance(receiver, Library):
        _leave(event.frame.machine, [receiver])
    elif type(event.value) not in _MAY_HOLD:
        return
    elif isinstance(receiver, Obj) and (receiver.info.is_module or not receiver.info.resolved):
        _leave(event.frame.machine, [event.value])


FUNCTIONS = dict.fromkeys(_HANDING_ON, _note_builtin)
EVENTS = {
    ModuleCompared: _note_called,
    ModuleMethodCalled: _note_update,
    Escaped: _note_escaped,
    AttributeAssigned: _note_assigned,
}


_BY_KERNEL = ("CrossEntropyLoss", "NLLLoss", "NLLLoss2d", "MultiMarginLoss")
"""Losses whose kernels compare the devices themselves, and name the weight."""


def check(fact: LossNotMoved) -> Iterator[Report]:
    kept = "its states" if fact.weight is None else code(fact.weight)
    used = f"{code(f'{fact.used}(..)')} gets {code(fact.other.text)} on {fact.other.device}"
    notes = {fact.used_at: Note(f"it is called with {code(fact.other.text)} here", fact.used_at)}
    for message, span in (*fact.other.evidence, *fact.weight_evidence):
        notes.setdefault(span, Note(message, span))
    target = fact.target or "device"
    elsewhere = bool(fact.at.file)
    if elsewhere:
        notes[fact.at] = Note(f"it is made here: {code(fact.made)}", fact.at)
    place = fact.used_at if elsewhere else fact.at
    yield Report(
        span=place,
        message=f"`{fact.class_name}` is never moved and keeps {kept} on the CPU, and {used}",
        symptom=_symptom(fact),
        help=f"move it to where it is used: {_moved(fact.used if elsewhere else fact.made, target)}",
        notes=tuple(note for span, note in notes.items() if span != place),
        fix=_fix(fact) if fact.bound and not elsewhere else None,
    )


def _fix(fact: LossNotMoved) -> Fix | None:
    move = f".to({fact.target})"
    return fix(Applicability.UNSAFE, f"append {code(move)}", *call_added(fact.made, fact.at, move))


def _moved(made: str, target: str) -> str:
    text = f"{made}.to({target})"
    return f"append {code(f'.to({target})')}" if "\n" in made or len(text) > 100 else edit(text)


def _symptom(fact: LossNotMoved) -> str:
    name = fact.class_name.rpartition(".")[2]
    if fact.weight is None:
        return "RuntimeError: Encountered different devices in metric calculation (see stacktrace for details)."
    if name in _BY_KERNEL:
        return (
            "RuntimeError: Expected all tensors to be on the same device, but got weight is on cpu, "
            "different from other tensors on cuda:0"
        )
    return (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    )
