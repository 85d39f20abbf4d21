"""`CUDA_VISIBLE_DEVICES` is set after CUDA has read it.

## What it does
Finds an assignment to `os.environ["CUDA_VISIBLE_DEVICES"]` (also `setdefault`, `update` and `os.putenv`) that runs
after a call which made CUDA read the variable, on the same path through the file.

## Why is this bad?
The driver reads the variable once, when it is first initialised, and never again. The assignment has no effect and
nothing says so: the program runs on GPU 0, beside everybody else's job, or dies with

    torch.OutOfMemoryError: CUDA out of memory.

while the card that was asked for is idle.

What reads the list: `torch.cuda.is_available()` (unless `PYTORCH_NVML_BASED_CUDA_CHECK=1`),
`torch.accelerator.is_available()`, an enabled `autocast` or `GradScaler`, and everything that needs a context: moving
a tensor or module to CUDA, `current_device()`, `get_device_name()`, `set_device()`, `synchronize()`. What does not:
`import torch` (all releases but 1.12.0), `torch.device("cuda")`, `torch.manual_seed()`, and, since 2.4,
`torch.cuda.device_count()`.

## Example
```python
if torch.cuda.is_available():
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"
```

## Use instead
```python
os.environ["CUDA_VISIBLE_DEVICES"] = "1"
if torch.cuda.is_available():
    ...
```
The best place is outside the program, in the shell: `CUDA_VISIBLE_DEVICES=1 python train.py`. Inside it, a device that
is passed on (`torch.device("cuda:1")`) needs no environment variable.

## Fix safety
The fix puts the assignment before the line that reads the variable, where both are in one block and nothing between
binds what the assignment reads. It is unsafe: to have a line stand before others, such as imports, is a change that its
author should see. Where the variable is set in a function, or CUDA is touched in another one, there is none.

## What it cannot see
Calls in modules that are imported before: a library that asks for CUDA while it is imported freezes the list as well.
An assignment that is meant for child processes looks the same when the child is started in another file.

## References
- [CUDA environment variables](https://docs.pytorch.org/docs/stable/cuda_environment_variables.html)
- [CUDA semantics](https://docs.pytorch.org/docs/stable/notes/cuda.html)
- pytorch/pytorch#23544, pytorch/pytorch#40618, pytorch/pytorch#9158, pytorch/pytorch#159641; the import of 1.12.0:
  pytorch/pytorch#80876; a library that asks while it is imported: microsoft/DeepSpeed#6810
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.devices import LateVisibleDevices
from torchdevlint.model import Applicability, Note, Report, Severity
from torchdevlint.rules.edits import fix, reordered
from torchdevlint.rules.wording import code, edit

SEVERITY = Severity.ERROR
EXECUTION = "environment"
PROBE = '''
"""Hiding every GPU through `CUDA_VISIBLE_DEVICES` has no effect once `torch.cuda.is_available()` was called."""
import os

import torch

NEEDS = "cuda"
OBSERVES = {"a tensor can be made on a hidden GPU": True}


def flagged(device):
    torch.cuda.is_available()
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    return observe()


def repaired(device):
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    torch.cuda.is_available()
    return observe()


def observe():
    try:
        torch.zeros(1, device="cuda")
    except RuntimeError:
        return {"a tensor can be made on a hidden GPU": False}
    return {"a tensor can be made on a hidden GPU": True}
'''


def check(fact: LateVisibleDevices) -> Iterator[Report]:
    done = "reads the list of visible devices" if fact.effect == "freezes" else "initialises CUDA"
    notes = [Note(f"{code(fact.cause)} {done} here", fact.cause_at)]
    if fact.inside is not None:
        text, place = fact.inside
        notes.append(Note(f"by {code(text)} here", place))
    yield Report(
        span=fact.at,
        message=f"`CUDA_VISIBLE_DEVICES` is set after {code(fact.cause)}, which {done}: it has no effect",
        symptom="nothing raises: the program silently uses the devices that were visible before, mostly GPU 0",
        help=f"move {edit(fact.how)} before {code(fact.cause)}, or set the variable in the shell",
        notes=tuple(notes),
        fix=fix(Applicability.UNSAFE, "set the variable first", *reordered(fact.reordering))
        if fact.reordering
        else None,
    )
