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
Weights and outputs whose device is not known, as after `torch.tensor(values)` of unknown values, which may be a tensor
of the accelerator, and losses of other libraries that hold parameters. It is silent for what is an attribute of a
Module, for a loss or metric that is moved anywhere in the file, that goes through a loop together with others, or that
is given to a function of another file, which may move it. A 0-dim `pos_weight` of the CPU is right, and a metric that
only collects what it is given (`AUROC()` without thresholds) has nothing to move.

## References
- [torch.nn.CrossEntropyLoss](https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html)
- [Metrics and devices](https://lightning.ai/docs/torchmetrics/stable/pages/overview.html#metrics-and-devices)
- pytorch/pytorch#122757, pytorch/pytorch#3879, sacdallago/biotrainer#67, Lightning-AI/torchmetrics#608,
  Lightning-AI/torchmetrics#340
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.losses import LossNotMoved
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
_BY_KERNEL = ("CrossEntropyLoss", "NLLLoss", "NLLLoss2d", "MultiMarginLoss")
"""Losses whose kernels compare the devices themselves, and name the weight."""


def check(fact: LossNotMoved) -> Iterator[Report]:
    kept = "its states" if fact.weight is None else code(fact.weight)
    used = f"{code(f'{fact.used}(..)')} gets {code(fact.other.text)} on {fact.other.device}"
    notes = {fact.used_at: Note(f"it is called with {code(fact.other.text)} here", fact.used_at)}
    for message, span in (*fact.other.evidence, *fact.weight_evidence):
        notes.setdefault(span, Note(message, span))
    target = fact.target or "device"
    yield Report(
        span=fact.at,
        message=f"`{fact.class_name}` is never moved and keeps {kept} on the CPU, and {used}",
        symptom=_symptom(fact),
        help=f"move it to where it is used: {_moved(fact.made, target)}",
        notes=tuple(note for span, note in notes.items() if span != fact.at),
        fix=_fix(fact) if fact.bound else None,
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
