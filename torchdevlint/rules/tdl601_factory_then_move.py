"""A tensor is made on the CPU and copied to the device that it could have been made on.

## What it does
Finds `torch.zeros(..).to(device)` and the same with `ones`, `full`, `empty`, `arange`, `eye`, `linspace`, `logspace`,
`tril_indices` and `triu_indices`, also with methods such as `view` or `long` between. It is advice, off unless it is
selected.

## Why is this bad?
The numbers are written to the memory of the CPU, and copied over the bus, from memory that is not pinned, so that the
program waits for the copy. With `device=` they are written where they are needed, and nothing is copied.

## Example
```python
def positions(x):
    return torch.arange(x.shape[1]).to(x.device)
```

## Use instead
```python
def positions(x):
    return torch.arange(x.shape[1], device=x.device)
```

## Fix safety
The fix gives the factory the device, and the type where the move changes it too, and takes the move away. It is safe,
since these factories give the same numbers wherever they run. It is unsafe where the type goes into a factory that
computes, such as `torch.linspace`, and where another method converts the tensor before the move, since the accelerator
may lack the first type, as MPS lacks float64. There is none where the factory is told another type, or where the move
has a line of its own.

## What it cannot see
Moves of a variable, some lines after it was made. `torch.tensor([..]).to(device)` copies in either form, and random
factories give other numbers on another device, so both are left alone; so are tensors with `requires_grad=True` or
`pin_memory=True`.

## References
- [Tensor creation](https://docs.pytorch.org/docs/stable/tensors.html#initializing-and-basic-operations)
- [Performance tuning](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html): "Create tensors directly
  on the target device"
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.transfers import FactoryThenMove
from torchdevlint.model import Applicability, Fix, Report, Severity
from torchdevlint.rules.edits import argument_added, cut_after, fix
from torchdevlint.rules.wording import code, edit, with_argument

SEVERITY = Severity.ADVICE
EXECUTION = None

_EXACT = (".zeros", ".ones", ".empty", ".eye", ".arange", "_indices")
"""Factories that compute nothing that has to be rounded to a type."""
PROBE = '''
"""A tensor that is made and then moved is copied; one that is made on the device is not."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

NEEDS = "device"
OBSERVES = {"copies": 1}


def flagged(device):
    return copies(lambda: torch.zeros(3).to(device))


def repaired(device):
    return copies(lambda: torch.zeros(3, device=device))


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.names.append(str(operator))
        return operator(*args, **(kwargs or {}))


def copies(make):
    with Seen() as seen:
        make()
    return {"copies": sum("_to_copy" in name for name in seen.names)}
'''


def check(fact: FactoryThenMove) -> Iterator[Report]:
    written = with_argument(fact.text, fact.arguments) if fact.direct else None
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} makes a tensor on the CPU, and {code(fact.move)} copies it",
        symptom="a copy over the bus for a tensor that could be made in place",
        help=f"write {edit(written)}" if written else f"give {edit(fact.arguments)} to `{fact.factory}`",
        fix=_fix(fact),
    )


def _fix(fact: FactoryThenMove) -> Fix | None:
    if fact.clashes or fact.at.end_row != fact.moved_at.end_row:
        return None
    rounds = "dtype" in f"{fact.arguments} {fact.text}" and not fact.factory.endswith(_EXACT)
    return fix(
        Applicability.UNSAFE if rounds or fact.converts else Applicability.SAFE,
        f"make it there, with {edit(fact.arguments)}",
        argument_added(fact.text, fact.made_at, fact.arguments),
        cut_after(fact.moved_at, fact.at),
    )
