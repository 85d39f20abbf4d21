"""`forward` makes a layer and calls it at once: its parameters are on the CPU, and new in each call.

## What it does
Finds modules with parameters or buffers that `forward`, or a method that it reaches, makes on the default device, and
then calls with its inputs: `nn.BatchNorm2d(c)(x)`, `norm = nn.LayerNorm(d)` and `norm(x)`, also where the layer is
assigned to an attribute of `self` in every call. Layers of `torch.nn`, a `Sequential` of them, and Modules of the file
that make such layers are looked at.

## Why is this bad?
The Module was moved before `forward` ran, so that what is made in it is on the CPU, and the inputs are not:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

or, from a convolution, `Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same`.
On a machine without an accelerator it runs and is wrong all the same: the layer has fresh random parameters in every
call, which no optimizer trains and no checkpoint saves. Moving it, `.to(x.device)`, ends the error and not that.

## Example
```python
class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        x = self.conv(x)
        return nn.BatchNorm2d(x.shape[1])(x).relu()
```

## Use instead
```python
class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return self.norm(self.conv(x)).relu()
```
Where a size is known from the first input only, `nn.LazyLinear` and the other lazy layers are made in `__init__` too.
Where no parameters are wanted, the functions of `torch.nn.functional` do the same without any:
`F.layer_norm(x, x.shape[1:])`.

## Fix safety
There is no automatic fix: a layer that is kept adds keys to the state dict, and its size has to be known.

## What it cannot see
Layers that are made under a condition and kept, as those are that are built at the first call: an earlier call on the
CPU, before the model is moved, can have made them. Layers that are moved, made with `device=`, given other parameters
(`conv.weight = kernel`) or handed to another function; modules of classes from other files. A layer whose input is not
known to be where the model is, such as the output of another layer that `forward` has just made, is not reported.

## References
- [torch.nn.Module](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html)
- [torch.nn.LazyLinear](https://docs.pytorch.org/docs/stable/generated/torch.nn.LazyLinear.html)
- syuu1987/geekTime-semantic-segmentation#1
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.modules import ModuleBuiltInForward
from torchdevlint.model import Note, Report, Severity
from torchdevlint.rules.wording import code

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""A layer that `forward` makes is on the CPU, and so are its parameters; one that is made in `__init__` was moved."""
import torch

NEEDS = "device"
RAISES = {"RuntimeError": ["on the same device", "Tensor on device"]}


class Block(torch.nn.Module):
    def __init__(self, early):
        super().__init__()
        self.norm = torch.nn.Linear(3, 3) if early else None

    def forward(self, x):
        norm = self.norm or torch.nn.Linear(3, 3)
        return norm(x)


def flagged(device, early=False):
    return {"shape": list(Block(early).to(device)(torch.ones(2, 3, device=device)).shape)}


def repaired(device):
    return flagged(device, early=True)
'''


def check(fact: ModuleBuiltInForward) -> Iterator[Report]:
    name = fact.class_name.removeprefix("torch.")
    same = fact.called_at.row == fact.at.row
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} makes a new `{name}` in each call of `{fact.scope}`, on the CPU and never trained",
        symptom="RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 "
        "and cpu! Anywhere: its parameters are new in each call",
        help="make it in `__init__` and keep it as an attribute, so that it is moved, trained and saved",
        notes=() if same else (Note("it is called here, with what is where the model is", fact.called_at),),
    )
