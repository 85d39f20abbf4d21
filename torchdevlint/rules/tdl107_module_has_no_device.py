"""A Module is asked for its `.device`, which `torch.nn.Module` does not have.

## What it does
Finds `self.device` and `model.device` where the class is known with all its bases and none of them has such an
attribute: classes of the project that are made of `nn.Module`, the layers and containers of `torch.nn`, and
`DataParallel`, which hands on none of the attributes of the model that it wraps. A class is reported once, where its
`forward`, or else its first reader, asks for the device.

## Why is this bad?
A tensor has a device; a Module has parameters and buffers, each of which could be on another one. The first time that
the line runs, on any machine, it raises

    AttributeError: 'Net' object has no attribute 'device'

It is often a line that only runs with an accelerator, or only with several: models of transformers, diffusers and
Lightning do have `.device`, and lose it as soon as `DataParallel` is around them:

    AttributeError: 'DataParallel' object has no attribute 'device'

## Example
```python
class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, size)

    def forward(self, x):
        noise = torch.randn(x.shape, device=self.device)
        return self.fc(x + noise)
```

## Use instead
```python
class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, size)

    @property
    def device(self):
        return self.fc.weight.device

    def forward(self, x):
        noise = torch.randn(x.shape, device=self.device)
        return self.fc(x + noise)
```
In `forward` the device of an input, `x.device`, says the same and needs no property. Elsewhere
`next(model.parameters()).device` does, where the Module has parameters and all of them are in one place. A device
that is kept in `__init__` does not follow when the Module is moved later.

## Fix safety
There is no automatic fix: which of the tensors says where the Module is, its author knows.

## What it cannot see
Classes with a base that is not to be had, or from a library that is not known here, since that may have a device;
classes with a decorator, with `__getattr__`, with computed names of attributes, or which give `self` to a function that
may write some; classes which leave methods to others that are made of them; files in which something assigns `.device`,
or an attribute with a computed name, to an object from outside, or asks by `hasattr`. A `model.device` whose class is
not known, such as an argument, is left alone. A class whose instances get their device in another file only is
reported, although the attribute is there when that file runs.

## References
- [torch.nn.Module](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html): its attributes
- pytorch/pytorch#7460: why there is no such attribute
- TIGER-AI-Lab/VLM2Vec#135, huggingface/sentence-transformers#438, jinfenglin/TraceBERT#10
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.modules import DeviceOfModule
from torchdevlint.model import Note, Report, Severity
from torchdevlint.rules.wording import code, edit

SEVERITY = Severity.ERROR
EXECUTION = "exception"
PROBE = '''
"""A Module has no `device`; its parameters have one."""
import torch

NEEDS = "cpu"
RAISES = {"AttributeError": ["object has no attribute 'device'"]}


def flagged(device):
    return {"device": str(torch.nn.Linear(2, 2).device)}


def repaired(device):
    return {"device": str(torch.nn.Linear(2, 2).weight.device)}
'''


def check(fact: DeviceOfModule) -> Iterator[Report]:
    name = fact.class_name.rpartition(".")[2]
    yield Report(
        span=fact.at,
        message=f"{code(fact.receiver)} is a `{fact.class_name}`, and neither that nor `nn.Module` has a `device`"
        if fact.wraps is None
        else f"{code(fact.receiver)} is a `{fact.class_name}`, which has no `device`, whatever it wraps",
        symptom=f"AttributeError: '{name}' object has no attribute 'device'",
        help=_help(fact),
        notes=() if fact.class_at is None else (Note(f"`{name}` and its bases define no `device`", fact.class_at),),
    )


def _help(fact: DeviceOfModule) -> str:
    if fact.wraps is not None:
        return f"ask what it wraps, {edit(f'{fact.receiver}.module')}, or one of its parameters"
    if fact.receiver == "self":
        return "use the device of an input or a parameter, or give the class a property `device`"
    return f"ask one of its parameters: {edit(f'next({fact.receiver}.parameters()).device')}"
