"""The same tensor is moved in every round of a loop.

## What it does
Finds `table.to(device)` in a loop that changes neither `table` nor `device`, where the tensor is known to be on the
CPU. It is advice, off unless it is selected.

## Why is this bad?
Each round copies the same numbers over the bus, and waits for the copy. One copy before the loop is enough.

## Example
```python
def run(model, batches, device):
    mask = torch.ones(8, 8)
    for x in batches:
        model(x, mask.to(device))
```

## Use instead
```python
def run(model, batches, device):
    mask = torch.ones(8, 8, device=device)
    for x in batches:
        model(x, mask)
```

## Fix safety
There is no fix: on the device the tensor takes memory for as long as the loop runs.

## What it cannot see
Tensors whose place is not known, such as arguments, which may be there already. Loops that are in another function than
the move. A tensor that is written to in the loop is left alone.

## References
- [torch.Tensor.to](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html)
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.transfers import RepeatedMove
from torchdevlint.model import Note, Report, Severity
from torchdevlint.rules.wording import code

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = '''
"""A tensor that each round moves is copied in each round; one that is moved before the loop, once."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

NEEDS = "device"
OBSERVES = {"copies": 3}


def flagged(device):
    mask = torch.ones(3)
    return copies(lambda: [mask.to(device) for _ in range(3)])


def repaired(device):
    mask = torch.ones(3)

    def moved_once():
        there = mask.to(device)
        return [there for _ in range(3)]

    return copies(moved_once)


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.names.append(str(operator))
        return operator(*args, **(kwargs or {}))


def copies(use):
    with Seen() as seen:
        use()
    return {"copies": sum("_to_copy" in name for name in seen.names)}
'''


def check(fact: RepeatedMove) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} copies the same tensor in every round of the loop",
        symptom="a copy over the bus in each round, and a wait for it",
        help=f"move {code(fact.name)} before the loop",
        notes=(Note("the loop, which does not change it", fact.loop),),
    )
