"""A function takes `device` or `map_location` and never reads it, though a call in it needs it.

## What it does
Finds functions with a parameter `device` or `map_location` that stands nowhere in their bodies, where

- what they return is made on the default device, by `torch.zeros(..)` and its kin without `device=`;
- they read a checkpoint with `map_location="cpu"`, and give it back, or take `map_location` and read weights from an
  address without any (a file that is read without any is TDL201's);
- they call a function or class of the same file, or `super().__init__(..)`, that takes the same parameter, has a
  default for it, and is not given it.

## Why is this bad?
The caller says where the result is to be, and nothing happens. It is on the CPU, and the error comes later, in another
place:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

Or the helper does without the argument what the caller meant to prevent: it reads the file back to the GPU that it was
saved from.

    RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.

## Example
```python
def causal_mask(size, device=None):
    return torch.full((size, size), float("-inf")).triu(1)
```

## Use instead
```python
def causal_mask(size, device=None):
    return torch.full((size, size), float("-inf"), device=device).triu(1)
```

## Fix safety
The fix hands the parameter on. It is safe where callers who leave it out get what they got: it has no default, the same
one as there, or none but the default device for a tensor that is returned as it is made. Otherwise it is unsafe: with
another default the result is somewhere else for them, and other tensors of the function may have to follow. There is
none where the result is made of several tensors.

## What it cannot see
Parameters with other names, and those that are read somewhere and forgotten somewhere else. Functions whose parameters
others may have decided on are left alone: methods of classes with bases in other files, methods that a second class of
the file has too, `forward` and special methods besides `__init__`, functions with decorators, `main`, tests, functions
that the file hands on as values. So are functions that say so (`del device`, or a word such as "unused" or "deprecated"
beside the name), and those that may read it without naming it (`locals()`, `save_hyperparameters()`). Of the layers
that `__init__` makes nothing is said, since the module can be moved afterwards.

## References
- [Creation ops](https://docs.pytorch.org/docs/stable/torch.html#creation-ops): "device (torch.device, optional) - the
  desired device of returned tensor"
- pytorch/pytorch#78331: `torch.load` itself, which did not hand `map_location` on to `torch.jit.load`
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.devices import DeviceNotForwarded
from torchdevlint.model import Applicability, Edit, Fix, Note, Report, Severity
from torchdevlint.rules.edits import argument_added, call_added, fix, replaced
from torchdevlint.rules.wording import code, edit

SEVERITY = Severity.WARNING
EXECUTION = "operation"
PROBE = '''
"""What a function makes without handing on its `device` is on the default device, whatever it is told."""
import torch

NEEDS = "device"
OBSERVES = {"the result is where it was asked for": False}


def flagged(device):
    return observe(without, device)


def repaired(device):
    return observe(forwarded, device)


def without(size, device=None):
    return torch.ones(size)


def forwarded(size, device=None):
    return torch.ones(size, device=device)


def observe(make, device):
    return {"the result is where it was asked for": make(2, device=device).device.type == device.type}
'''


def check(fact: DeviceNotForwarded) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=_message(fact),
        symptom=(
            "nothing raises here: the result is on the CPU, whatever the caller asks for"
            if fact.kind != "call" or fact.parameter == "device"
            else "the file is read as if the caller had said nothing"
        ),
        help=f"write {edit(fact.suggestion)}" + ("" if fact.kind == "load" else " there"),
        notes=(Note(f"{code(fact.parameter)} is not read anywhere in {code(fact.function)}", fact.parameter_at),),
        fix=_fix(fact),
    )


def _fix(fact: DeviceNotForwarded) -> Fix | None:
    if not fact.alone:
        return None
    edits: tuple[Edit | None, ...]
    if fact.kind == "load":
        edits = (replaced(fact.at, fact.suggestion),)
    elif fact.suggestion.startswith("."):
        edits = call_added(fact.text, fact.at, fact.suggestion)
    else:
        edits = (argument_added(fact.text, fact.at, fact.suggestion),)
    applicability = Applicability.SAFE if fact.keeps else Applicability.UNSAFE
    return fix(applicability, f"write {edit(fact.suggestion)}", *edits)


def _message(fact: DeviceNotForwarded) -> str:
    function, parameter, target = code(fact.function), code(fact.parameter), code(fact.target)
    if fact.kind == "factory":
        return f"{function} takes {parameter} and does not hand it on to {target}, which makes what it returns"
    if fact.kind == "load":
        return f"{function} takes {parameter}, but {target} reads to the CPU"
    return f"{function} takes {parameter} and does not hand it on to {target}, which takes it too"
