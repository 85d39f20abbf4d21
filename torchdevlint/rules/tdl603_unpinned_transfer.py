"""Batches are moved to an accelerator from memory that is not pinned.

## What it does
Finds a `DataLoader` that is not told whether to pin its memory, and whose batches a loop of the same file moves to an
accelerator. It is advice, off unless it is selected.

## Why is this bad?
The driver can copy from pinned memory only. Any other batch it first copies to a pinned buffer of its own, while the
program waits; `non_blocking=True` then has no effect. With `pin_memory=True` a thread of the loader does that ahead of
time.

## Example
```python
def train(model, data, device):
    loader = torch.utils.data.DataLoader(data, batch_size=32)
    for x, y in loader:
        loss = model(x.to(device), y.to(device))
```

## Use instead
```python
def train(model, data, device):
    loader = torch.utils.data.DataLoader(data, batch_size=32, pin_memory=True)
    for x, y in loader:
        loss = model(x.to(device, non_blocking=True), y.to(device, non_blocking=True))
```
On a machine without an accelerator, `pin_memory=True` does nothing but warn: `pin_memory=device.type == "cuda"` says it
without that.

## Fix safety
There is no fix: pinned memory is memory that the system cannot use for anything else.

## What it cannot see
How large the batches are: for a few numbers it makes no difference. Loaders that come from elsewhere, and those that
are given `**kwargs`. `pin_memory=False` is a decision and is left alone.

## References
- [Memory pinning](https://docs.pytorch.org/docs/stable/data.html#memory-pinning)
- [A guide on good usage of non_blocking and pin_memory](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html)
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.transfers import UnpinnedLoader
from torchdevlint.model import Note, Report, Severity
from torchdevlint.rules.wording import code

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = '''
"""The batches of a loader are in pinned memory only if it is told to pin them."""
import torch

NEEDS = "cuda"
OBSERVES = {"pinned": False}


def flagged(device):
    return pinned(torch.utils.data.DataLoader(torch.ones(4, 2)))


def repaired(device):
    return pinned(torch.utils.data.DataLoader(torch.ones(4, 2), pin_memory=True))


def pinned(loader):
    return {"pinned": all(batch.is_pinned() for batch in loader)}
'''


def check(fact: UnpinnedLoader) -> Iterator[Report]:
    effect = "`non_blocking=True` has no effect" if fact.asynchronous else "each move waits for a copy of the driver"
    yield Report(
        span=fact.at,
        message="the batches of this loader are moved to an accelerator from memory that is not pinned",
        symptom=effect,
        help="give it `pin_memory=True`, and the moves `non_blocking=True`",
        notes=(Note(f"{code(fact.move)} moves a batch here", fact.moved_at),),
    )
