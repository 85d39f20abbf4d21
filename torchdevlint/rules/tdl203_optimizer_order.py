"""The state of an optimizer is made, or loaded, before its model is moved: it stays on the CPU.

## What it does
Finds `optimizer.load_state_dict(...)` for an optimizer of `torch.optim` that keeps tensors for each parameter, and the
construction of `Adagrad`, where the same function moves the model to an accelerator only afterwards.

## Why is this bad?
`model.to(device)` moves the parameters in place and knows nothing of optimizers. `load_state_dict` puts the state where
the parameters are *at that moment*, which is the CPU, and there it stays. The first step raises

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

`Adagrad` is the one optimizer of torch that makes its state when it is constructed, so it fails in the same way without
any checkpoint. For all the others, constructing them before the move is harmless, since their state is made in the
first step: the parameters are still the same objects.

## Example
```python
def resume(path, device):
    model = nn.Linear(8, 2)
    optimizer = torch.optim.Adam(model.parameters())
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    model.to(device)
    return model, optimizer
```

## Use instead
```python
def resume(path, device):
    model = nn.Linear(8, 2).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return model, optimizer
```
It is enough to move the model before the state is loaded; `map_location` says only where the file is read to.

## Fix safety
The fix puts the line that moves the model before the optimizer, where both are in one block and nothing between binds
what the line reads. It is unsafe: statements between the two may count on either place.

## What it cannot see
A model, an optimizer or a move in another function or file; models that the function is given, which may have been
moved before, or that are made by a call which speaks of a device; optimizers of other packages. It is silent where the
state of the optimizer is moved by hand or by a function that is named so, where it is loaded again after the move, and
for `SGD` without momentum, which has no state.

## References
- [torch.optim.Optimizer.load_state_dict](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.load_state_dict.html)
- pytorch/pytorch#2830, pytorch/pytorch#7321, pytorch/pytorch#7844, yyvhang/IAGNet#4,
  Daniil-Osokin/lightweight-human-pose-estimation.pytorch#208, jwyang/faster-rcnn.pytorch@b4d4c524
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.checkpoints import OptimizerOrder
from torchdevlint.model import Applicability, Note, Report, Severity
from torchdevlint.rules.edits import fix, reordered
from torchdevlint.rules.wording import code

SEVERITY = Severity.ERROR
EXECUTION = None
PROBE = '''
"""Adagrad makes its state where the parameters are, and a model that is moved afterwards leaves it there."""
import torch

NEEDS = "device"
OBSERVES = {"state moved": False}


def flagged(device, first=False):
    model = torch.nn.Linear(2, 2)
    if first:
        model.to(device)
    optimizer = torch.optim.Adagrad(model.parameters())
    model.to(device)
    state = optimizer.state[optimizer.param_groups[0]["params"][0]]
    return {"state moved": state["sum"].device.type == device.type}


def repaired(device):
    return flagged(device, first=True)
'''


def check(fact: OptimizerOrder) -> Iterator[Report]:
    name = fact.optimizer.rpartition(".")[2]
    model = code(fact.model)
    message = (
        f"{code(fact.text)} puts the state of `{name}` on the CPU, where {model} is until it is moved"
        if fact.kind == "loaded"
        else f"`{name}` makes its state at once, on the CPU, where {model} is until it is moved"
    )
    yield Report(
        span=fact.at,
        message=message,
        symptom="in the first step, RuntimeError: Expected all tensors to be on the same device, but found at least "
        "two devices, cuda:0 and cpu!",
        help=f"move {model} first; the optimizer's state then follows its parameters",
        notes=(Note(f"{model} is moved here, and the state is not", fact.moved_at),),
        fix=fix(Applicability.UNSAFE, "move the model first", *reordered(fact.reordering)) if fact.reordering else None,
    )
