"""Code asks for CUDA by name, whatever the machine has.

## What it does
Finds `.cuda()`, `.to("cuda")`, `device="cuda"`, `map_location="cuda"`, `torch.device("cuda")`, `torch.cuda.FloatTensor`
and names that are bound once to one of these, where nothing asks first whether CUDA is there. It is advice, off unless
it is selected.

## Why is this bad?
The program runs on machines with an NVIDIA or AMD GPU and on no other. In tests on a CPU, on a laptop and on Apple's or
Intel's accelerators it ends with

    AssertionError: Torch not compiled with CUDA enabled
    RuntimeError: No CUDA GPUs are available

## Example
```python
model = nn.Linear(4, 2).cuda()
output = model(torch.ones(1, 4, device="cuda"))
```

## Use instead
```python
device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
model = nn.Linear(4, 2).to(device)
output = model(torch.ones(1, 4, device=device))
```
Code of a library takes the device of what it is given: `x.device`, `next(model.parameters()).device`.

## Fix safety
Where a name is bound to the device, the fix makes a choice of it that takes the CPU where there is no CUDA. It is
unsafe: a program may be too slow there to be of use, and other calls of it may name CUDA still. For those there is
none: where they get their device from is a question of the program's design.

## What it cannot see
Whether the program is meant for CUDA alone. Files that import kernels (triton, cupy, an extension that is called like
CUDA), functions and classes that say CUDA or GPU in their names or decorators, code under a test or an `assert` that
asks for it, in a `try`, and default values, which the caller can replace, are left alone. Where a device is at hand,
[TDL012](TDL012.md) speaks instead.

## References
- [Device-agnostic code](https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code)
- [torch.accelerator](https://docs.pytorch.org/docs/stable/accelerator.html)
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.portability import NamedCuda
from torchdevlint.model import Applicability, Fix, Report, Severity
from torchdevlint.rules.edits import added_after, fix
from torchdevlint.rules.wording import code

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = '''
"""What asks for CUDA by name fails where there is none; what asks for the device that was chosen does not."""
import torch

NEEDS = "cpu"
RAISES = {
    "AssertionError": ["Torch not compiled with CUDA enabled"],
    "RuntimeError": ["No CUDA GPUs are available", "Found no NVIDIA driver"],
}


def flagged(device):
    return {"sum": float(torch.nn.Linear(4, 2).cuda()(torch.ones(1, 4, device="cuda")).sum())}


def repaired(device):
    return {"sum": float(torch.nn.Linear(4, 2).to(device)(torch.ones(1, 4, device=device)).sum())}
'''


def check(fact: NamedCuda) -> Iterator[Report]:
    if fact.number:
        return
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} asks for CUDA, whatever the machine has",
        symptom="without CUDA, AssertionError: Torch not compiled with CUDA enabled",
        help="write `.to(device)`, with a device that is chosen once or given"
        if fact.form == "move"
        else "give it a device that is chosen once, or that of the tensors it works with",
        fix=_fix(fact),
    )


def _fix(fact: NamedCuda) -> Fix | None:
    if fact.chosen_at is None or fact.torch is None:
        return None
    other = f' if {fact.torch}.cuda.is_available() else "cpu"'
    return fix(Applicability.UNSAFE, "choose the CPU where there is no CUDA", added_after(fact.chosen_at, other))
