"""A sum starts as a tensor of the CPU and takes up tensors of an accelerator, or scalars are collected on the CPU.

## What it does
Finds three ways in which a scalar stays on the CPU: a sum that begins as `torch.tensor(0.0)` or `torch.zeros(1)` and
is added to in place (`total += loss`), where the losses are on an accelerator, or go `.backward()`; a constant that is
stacked with tensors of an accelerator (`torch.stack([loss, torch.tensor(0.0)])`); and `torch.tensor([a, b])` of scalars
that are on an accelerator, whose result meets tensors there. The report starts where the scalar is made.

## Why is this bad?
A 0-dim tensor of the CPU may be an input of an operation on an accelerator, but not its output, and it is nothing that
can be joined:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
    RuntimeError: Expected all tensors to be on the same device, but got tensors is on cpu, different from other tensors
    on cuda:0 (when checking argument in method wrapper_CUDA_cat)

`total = total + loss` works where `total += loss` raises, and so does a number. `torch.tensor([a, b])` copies each
scalar to the CPU, waits for it, makes a tensor of the default device, and cuts it off from its gradient.

## Example
```python
def total_loss(model, batches, device):
    model.to(device)
    total = torch.tensor(0.0)
    for x, y in batches:
        total += nn.functional.mse_loss(model(x.to(device)), y.to(device))
    return total
```

## Use instead
```python
def total_loss(model, batches, device):
    model.to(device)
    total = 0.0
    for x, y in batches:
        total += nn.functional.mse_loss(model(x.to(device)), y.to(device))
    return total
```
A number becomes a tensor with the first loss. Where it must be a tensor even for no batch, make it with `device=`.
Scalars are collected by `torch.stack([a, b])`, which keeps their device and their gradient.

## Fix safety
The fix adds `device=` to the scalar, where an expression for the right device is surely bound there. It is safe where
the function gets one tensor, and else unsafe. The number `0.0` is left to the author, since the result is no tensor
then where nothing is added. A list of scalars has no fix.

## What it cannot see
Other losses whose device is not known, such as those that functions of other files give. It is silent for `total =
total + loss`, for `.item()`, for sums of tensors of the CPU, and for a list of scalars that is only read. A sum that is
an attribute of a Module is a matter of TDL101.

## References
- [CUDA semantics](https://docs.pytorch.org/docs/stable/notes/cuda.html)
- [torch.tensor](https://docs.pytorch.org/docs/stable/generated/torch.tensor.html) copies its data
- asteroid-team/asteroid (an accumulator in `forward` of a loss)
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.model import Report, Severity
from torchdevlint.rules.mixed import Cause, cause_of, creation_report, made_there, placed
from torchdevlint.rules.wording import code, is_on

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""A 0-dim tensor of the CPU cannot take up a loss of the accelerator in place; a number can."""
import torch

NEEDS = "accelerator"
RAISES = {"RuntimeError": ["Expected all tensors to be on the same device"]}


def flagged(device, start=lambda: torch.tensor(0.0)):
    total = start()
    total += torch.ones(2, device=device).mean()
    return {"total": str(total.device)}


def repaired(device):
    return flagged(device, lambda: 0.0)
'''


def check(fact: MixedDevices) -> Iterator[Report]:
    if cause_of(fact) is not Cause.SCALAR:
        return
    first = fact.creations[0]
    other = is_on(fact.other.text, fact.other.device)
    if _is_element(fact):
        message = f"{code(first.text)} makes a tensor of the CPU whose elements take up values in place, and {other}"
    elif fact.scalar == "sum":
        message = f"{code(first.text)} is a scalar of the CPU that takes up values in place, and {other}"
    elif fact.scalar == "part":
        message = f"{code(first.text)} is a scalar of the CPU that is joined with others, and {other}"
    else:
        message = f"{code(first.text)} collects scalars of an accelerator into a tensor of the CPU, and {other}"
    yield creation_report(fact, message, _help(fact), None if fact.scalar == "list" else made_there(fact))


def _help(fact: MixedDevices) -> str:
    first = fact.creations[0]
    if fact.scalar == "list":
        return "use `torch.stack`, which keeps device and gradient"
    there = placed(first, fact.there or (f"{fact.other.text}.device" if fact.other.text.isidentifier() else "device"))
    alone = fact.scalar == "sum" and not _is_element(fact)
    return f"start with the number `0.0`, or make it there: {there}" if alone else f"make it there: {there}"


def _is_element(fact: MixedDevices) -> bool:
    """Whether what takes up values is an item of what was made: ``sums[i] += loss``."""
    return fact.scalar == "sum" and fact.stayed.text.endswith("]")
