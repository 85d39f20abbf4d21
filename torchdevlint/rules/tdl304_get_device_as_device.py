"""`x.get_device()` is used as a device, and is -1 where `x` is on the CPU.

## What it does
Finds the number that `x.get_device()` or `torch.get_device(x)` gives for a tensor where it is given for a device:
`device=x.get_device()`, `.to(x.get_device())`, `.cuda(x.get_device())`, `torch.device("cuda", x.get_device())` and
`f"cuda:{x.get_device()}"`, at once or through a name.

## Why is this bad?
`get_device()` gives the number of the GPU. A tensor of the CPU has none, and the number is -1, which no device has:

    RuntimeError: Device index must not be negative
    RuntimeError: Invalid device string: 'cuda:-1'

So the code works on a GPU only, and tests of it on a machine without one fail.

## Example
```python
def offsets(x):
    return torch.arange(x.shape[0], device=x.get_device()) * x.shape[1]
```

## Use instead
```python
def offsets(x):
    return torch.arange(x.shape[0], device=x.device) * x.shape[1]
```
`x.device` is a device wherever `x` is, and `y.to(x.device)` does what `y.cuda(x.get_device())` is meant to do.

## Fix safety
The fix writes `x.device`, and `.to(x.device)` in place of `.cuda(..)`, which is where the number leads as long as there
is one. It is safe where the number stands in the call that takes it, and what is moved is a tensor or a module. Where
it is kept under a name first the fix is unsafe, since the name then holds a device, and other places may want the
number.

## What it cannot see
Helpers of other files that give such a number, such as `get_device_of` of AllenNLP, and tensors that nothing tells to
be tensors. Code that compares the number with anything, that asks `x.is_cuda`, that has moved `x` to CUDA by name, or
that is for CUDA by the name or a decorator of its function, is left alone, and so are
`torch.cuda.device(x.get_device())` and `torch.cuda.set_device(x.get_device())`, which do nothing for -1.

## References
- [torch.Tensor.get_device](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.get_device.html)
- tstanczyk95/WeatherGCNet#1, torchgeo/terratorch#779, uber-research/DeepPruner#38, zhuchen03/VIBNet#9,
  lyutyuh/gazetteer-NER-acl19#5
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.devices import DeviceNumber
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import attribute_renamed, fix, replaced
from torchdevlint.rules.wording import code, edit, operand

SEVERITY = Severity.ERROR
EXECUTION = "exception"
PROBE = '''
"""The number that `get_device()` gives for a tensor of the CPU is no device; `.device` is one."""
import torch

NEEDS = "cpu"
RAISES = {"RuntimeError": ["Device index must not be negative", "Device index must be non-negative"]}


def flagged(device):
    x = torch.ones(2)
    return {"device": str(torch.zeros(2, device=x.get_device()).device)}


def repaired(device):
    x = torch.ones(2)
    return {"device": str(torch.zeros(2, device=x.device).device)}
'''


def check(fact: DeviceNumber) -> Iterator[Report]:
    number = f"{fact.tensor}.get_device()"
    notes = () if fact.used_at is None else (Note(f"given to {code(fact.function)} here", fact.used_at),)
    yield Report(
        span=fact.at,
        message=f"{code(number)} is -1 where {code(fact.tensor)} is on the CPU, and is used as a device",
        symptom=(
            "on the CPU, RuntimeError: Invalid device string: 'cuda:-1'"
            if fact.text
            else "on the CPU, RuntimeError: Device index must not be negative"
        ),
        help=_help(fact),
        notes=notes,
        fix=_fix(fact),
    )


def _fix(fact: DeviceNumber) -> Fix | None:
    device = f"{operand(fact.tensor)}.device"
    message = f"give it {edit(device)}"
    if "\n" in fact.tensor:
        return None
    if fact.moves:
        if fact.callee_at is None or fact.given_at is None:
            return None
        edits = (attribute_renamed(fact.callee_at, "cuda", "to"), replaced(fact.given_at, device))
        return fix(Applicability.SAFE if fact.of_torch else Applicability.UNSAFE, message, *edits)
    if fact.given_at is not None:
        return fix(Applicability.SAFE, message, replaced(fact.given_at, device))
    return None if fact.text else fix(Applicability.UNSAFE, message, replaced(fact.at, device))


def _help(fact: DeviceNumber) -> str:
    if fact.moves:
        return f"write {edit(f'.to({fact.tensor}.device)')} in place of `.cuda(..)`"
    return f"write {edit(f'{fact.tensor}.device')}, which is a device wherever the tensor is"
