"""Code asks for one GPU by its number, which many machines do not have.

## What it does
Finds `"cuda:1"`, `.cuda(1)`, `torch.device("cuda", 1)`, `map_location="cuda:1"`, `torch.cuda.set_device(1)` and
`torch.cuda.device(1)` with a literal number above 0, and names that are bound once to such a text. It is advice, off
unless it is selected.

## Why is this bad?
The number is that of the GPU which was free on the author's machine. With fewer GPUs, or with one that is chosen by
`CUDA_VISIBLE_DEVICES` and is number 0 then, it does not exist:

    torch.AcceleratorError: CUDA error: invalid device ordinal
    RuntimeError: Attempting to deserialize object on CUDA device 1 but torch.cuda.device_count() is 1. Please use
    torch.load with map_location to map your storages to an existing device.

## Example
```python
model = nn.Linear(4, 2).to("cuda:1")
```

## Use instead
```python
def build(device):
    return nn.Linear(4, 2).to(device)
```
Which GPU a process may use is said outside of the program: `CUDA_VISIBLE_DEVICES=1 python train.py`.

## Fix safety
There is no fix: nothing in the file says which device is right.

## What it cannot see
Numbers that come from arguments or files. Code that counts the GPUs first, and files that name several of them, as the
parts of a model on two GPUs do, are left alone.

## References
- [CUDA semantics](https://docs.pytorch.org/docs/stable/notes/cuda.html): "in most cases it's better to use
  `CUDA_VISIBLE_DEVICES`"
- [torch.cuda.set_device](https://docs.pytorch.org/docs/stable/generated/torch.cuda.set_device.html): "Usage of this
  function is discouraged"
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.portability import NamedCuda
from torchdevlint.model import Report, Severity
from torchdevlint.rules.wording import code

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = '''
"""A GPU with a number that the machine does not have cannot be used; the one that is there can."""
import torch

NEEDS = "cuda"
RAISES = {"RuntimeError": ["invalid device ordinal"], "AcceleratorError": ["invalid device ordinal"]}


def flagged(device):
    return {"sum": float(torch.ones(3).to("cuda:99").sum())}


def repaired(device):
    return {"sum": float(torch.ones(3).to(device).sum())}
'''


def check(fact: NamedCuda) -> Iterator[Report]:
    if not fact.number:
        return
    if fact.form == "load":
        symptom = (
            f"RuntimeError: Attempting to deserialize object on CUDA device {fact.number} but "
            "torch.cuda.device_count() is 1. Please use torch.load with map_location to map your storages to an "
            "existing device."
        )
    else:
        symptom = "with fewer GPUs, torch.AcceleratorError: CUDA error: invalid device ordinal"
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} asks for GPU number {fact.number}, whether or not there is one",
        symptom=symptom,
        help="take the device as an argument, and choose the GPU by `CUDA_VISIBLE_DEVICES`",
    )
