"""A Module handles being moved in a way that has no effect: in its own `to`, or by a device kept too early.

## What it does
Finds three things in classes that are a `torch.nn.Module`:

- `to` or `cuda` is overridden to move attributes that are not registered, and the class is used as a submodule of
  another class of the file;
- an override of `to`, `cuda`, `cpu` or `xpu` that returns nothing;
- `__init__` keeps the device that the layers have which it has just made, `next(self.parameters()).device`, and other
  methods make or move tensors to it.

## Why is this bad?
`model.to(device)` calls `_apply` of its submodules, and never their `to` or `cuda`. What such an override moves stays
behind when the owner is moved:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

The same error comes of a device that was asked for in `__init__`: at that moment every layer is on the CPU, and the
attribute says so for ever. And `Module.to` returns the Module, which callers rely on: without `return self`, the name
in `model = Net().to(device)` is None on every machine, and calling it raises

    TypeError: 'NoneType' object is not callable

## Example
```python
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = torch.ones(3)

    def to(self, *args, **kwargs):
        self.factor = self.factor.to(*args, **kwargs)
        return super().to(*args, **kwargs)

    def forward(self, x):
        return x * self.factor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()

    def forward(self, x):
        return self.scale(x)
```

## Use instead
```python
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("factor", torch.ones(3), persistent=False)

    def forward(self, x):
        return x * self.factor


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = Scale()

    def forward(self, x):
        return self.scale(x)
```
A buffer needs no override. What cannot be registered, such as a distribution, is moved by overriding `_apply`, which
does reach submodules. A device is asked for when it is needed: `x.device`, or a property that looks at a parameter.

## Fix safety
There is no automatic fix: which of these ways fits depends on what the class keeps.

## What it cannot see
A class that is used as a submodule in another file only; owners that move it by hand or override `to` themselves are
left alone, and so are Modules at the top, whose override is called. Devices that come as an argument and are kept,
devices that any line of the file assigns again, and classes that name a device in `__init__` or are given modules,
which may have been moved before, are not reported; nor are classes with a base from another file for the last form.

## References
- [torch.nn.Module.to](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to)
- Lightning-AI/pytorch-lightning#10624, Lightning-AI/torchmetrics#531, gdalsanto/flamo#30
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.modules import IneffectiveMove
from torchdevlint.model import Note, Report, Severity

SEVERITY = Severity.WARNING
EXECUTION = None
PROBE = '''
"""A submodule's own `to` is not called when its owner is moved; its `_apply` is."""
import torch

NEEDS = "device"
OBSERVES = {"factor moved": False}


class WithTo(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = torch.ones(2)

    def to(self, device):
        self.factor = self.factor.to(device)
        return super().to(device)


class WithApply(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = torch.ones(2)

    def _apply(self, fn, recurse=True):
        self.factor = fn(self.factor)
        return super()._apply(fn, recurse)


def flagged(device, kind=WithTo):
    owner = torch.nn.Sequential(kind()).to(device)
    return {"factor moved": owner[0].factor.device.type == device.type}


def repaired(device):
    return flagged(device, WithApply)
'''
_MIXED = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


def check(fact: IneffectiveMove) -> Iterator[Report]:
    if fact.form == "submodule":
        yield Report(
            span=fact.at,
            message=f"`{fact.class_name}.{fact.method}` is not called when the Module that holds it is moved, "
            f"and `self.{fact.attribute}` stays as it was",
            symptom=_MIXED,
            help=f"register `{fact.attribute}` as a buffer, or override `_apply`, which reaches submodules",
            notes=(Note(f"`{fact.class_name}` is a submodule here", fact.at_other),),
        )
    elif fact.form == "returns":
        yield Report(
            span=fact.at,
            message=f"`{fact.class_name}.{fact.method}` returns None, and that of `nn.Module` the Module",
            symptom="TypeError: 'NoneType' object is not callable, after `model = model.to(device)`",
            help="end it with `return self`",
        )
    else:
        yield Report(
            span=fact.at,
            message=f"`self.{fact.attribute}` keeps the device that the layers of `{fact.class_name}` have in "
            "`__init__`, which is the CPU, and does not follow them",
            symptom=_MIXED,
            help="ask where the device is needed: `x.device` of an input, or a property that looks at a parameter",
            notes=(Note(f"`self.{fact.attribute}` is used here, after the model was moved", fact.at_other),),
        )
