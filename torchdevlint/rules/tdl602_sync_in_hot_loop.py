"""Each training step waits for the accelerator.

## What it does
Finds, in a loop that calls `.backward()` and `.step()`, what every round does and the accelerator has to be waited for:
`.item()`, `.cpu()`, `.tolist()`, `float(..)` or `print(..)` of a loss or another tensor that is there,
`torch.cuda.synchronize()` and `torch.cuda.empty_cache()`. Of several reads in one loop the first is reported: right
after it, there is little left to wait for. It is advice, off unless it is selected.

## Why is this bad?
The CPU runs ahead and queues the work of the next step while the accelerator still computes this one. To read a number
it has to wait until everything before it is done, and the accelerator idles while the next step is queued. The smaller
the model, the more of the time that is. `empty_cache` gives memory back to the driver, and the next step asks for it
again.

## Example
```python
def train(model, loader, optimizer, criterion, device):
    model.to(device)
    total = 0.0
    for x, y in loader:
        loss = criterion(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
```

## Use instead
```python
def train(model, loader, optimizer, criterion, device):
    model.to(device)
    total = torch.zeros((), device=device)
    for x, y in loader:
        loss = criterion(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total.item()
```
What is shown while it trains can be read every hundredth step.

## Fix safety
There is no fix: how often a number is needed is for the author to say.

## What it cannot see
How long a step is: beside one of a second, a wait is nothing. What a function that is called in the loop does. A number
that a test of the loop needs, as where a loss that is not finite ends the training, is left alone, and so are waits for
a clock.

## References
- [Avoid unnecessary CPU-GPU synchronization](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html)
- [Asynchronous execution](https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution)
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.transfers import WaitInStep
from torchdevlint.model import Note, Report, Severity
from torchdevlint.rules.wording import code

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = '''
"""A number that is read in each step is read as often as there are steps; one that is added up on the device, once."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

NEEDS = "accelerator"
OBSERVES = {"reads": 3}


def flagged(device):
    def train(x):
        return sum((x * step).sum().item() for step in range(3))

    return reads(train, device)


def repaired(device):
    def train(x):
        return sum((x * step).sum() for step in range(3)).item()

    return reads(train, device)


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.names.append(str(operator))
        return operator(*args, **(kwargs or {}))


def reads(train, device):
    x = torch.ones(3).to(device)
    with Seen() as seen:
        train(x)
    return {"reads": sum("_local_scalar_dense" in name for name in seen.names)}
'''

_HELP = {
    "read": "add up on the device, with `.detach()`, and read it after the loop or every so many steps",
    "print": "print every so many steps",
    "cache": "leave it out: the memory is kept for the next step, which needs as much",
    "synchronize": "leave it out, or do it when a time is measured",
}


def check(fact: WaitInStep) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} makes each training step wait for the accelerator",
        symptom="the accelerator idles while the next step is queued",
        help=_HELP[fact.kind],
        notes=(Note("the loop of training steps", fact.loop),),
    )
