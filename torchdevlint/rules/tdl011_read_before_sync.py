"""A copy to the CPU with `non_blocking=True` is read before anything has waited for it.

## What it does
Finds `t.to("cpu", non_blocking=True)` of a tensor that is on an accelerator, whose result the CPU then calculates with,
prints, turns into a number or gives to NumPy, while nothing in between can have waited for the accelerator. The report
stands at the first read.

## Why is this bad?
The copy goes into pinned memory and is still under way when `.to` returns. Towards an accelerator that is harmless,
because what uses the tensor there is queued behind the copy; the CPU queues behind nothing. Nothing raises: what is
read are zeros, values of an earlier batch, or a half of each, and which of these depends on the load of the machine.

## Example
```python
def predict(model, x, device):
    model.to(device)
    scores = model(x.to(device)).to("cpu", non_blocking=True)
    return scores.argmax(1)
```

## Use instead
```python
def predict(model, x, device):
    model.to(device)
    scores = model(x.to(device)).to("cpu")
    return scores.argmax(1)
```
Where several copies are to overlap, start all of them, and call `torch.cuda.synchronize()`, or `synchronize()` of an
event that was recorded behind them, before the first is read.

## Fix safety
The fix is safe: it leaves `non_blocking=True` out of the copy, which then waits until the values are there. It may wait
more often than necessary. Where `non_blocking` is given by its position, there is no fix.

## What it cannot see
Reads in functions of other files, and copies into a buffer by `copy_(t, non_blocking=True)`. It is silent as soon as a
call in between may have waited: `synchronize`, `.item()` and `.cpu()` of another tensor, and functions whose names
speak of waiting. `.numpy()` alone only gives another view of the memory, and reads nothing. A copy from MPS blocks.

## References
- [torch.Tensor.to](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html)
- [Good usage of non_blocking and pin_memory](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html):
  copies to the CPU need a synchronization
- pytorch/pytorch#86264, pytorch/pytorch#127612, pytorch/pytorch#140296, sgl-project/sglang#16493
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.host_copies import ReadBeforeSync
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import argument_removed
from torchdevlint.rules.wording import code

SEVERITY = Severity.ERROR
EXECUTION = None
PROBE = '''
"""A copy to the CPU that does not block goes into pinned memory, which is how it can go on after the call."""
import torch

NEEDS = "cuda"
OBSERVES = {"pinned": True}


def flagged(device, non_blocking=True):
    copied = torch.ones(2, device=device).to("cpu", non_blocking=non_blocking)
    return {"pinned": copied.is_pinned()}


def repaired(device):
    return flagged(device, non_blocking=False)
'''


def check(fact: ReadBeforeSync) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=f"{code(fact.value)} is read while the copy of {code(fact.source)} to the CPU may still be going on",
        symptom="nothing raises: what is read may be zeros, values of an earlier copy, or a part of this one",
        help="leave out `non_blocking=True`, or call `torch.cuda.synchronize()` before it is read",
        notes=() if fact.copied_at == fact.at else (Note(f"{code(fact.copy)} does not wait", fact.copied_at),),
        fix=_fix(fact),
    )


def _fix(fact: ReadBeforeSync) -> Fix | None:
    removed = None if fact.copied_at.file else argument_removed(fact.copy, fact.copied_at, "non_blocking")
    return None if removed is None else Fix(Applicability.SAFE, "leave out `non_blocking`", (removed,))
