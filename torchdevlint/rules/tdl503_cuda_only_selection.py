"""The device is chosen between CUDA and the CPU, and other accelerators are forgotten.

## What it does
Finds `"cuda" if torch.cuda.is_available() else "cpu"` and the same in statements, in files that know no other
accelerator. It is advice, off unless it is selected. Selected, it also finds two mistakes in such choices: a choice as
the default value of a parameter, and `torch.backends.mps.is_built()` where it should be `is_available()`, which is an
error.

## Why is this bad?
On a Mac, or beside an Intel GPU, the program runs on the CPU without a word, many times slower than it could.

A default value is made when the module is imported, by everybody who imports it: `torch.cuda.is_available()` reads
`CUDA_VISIBLE_DEVICES` then, and a later assignment has no effect.

`is_built()` says how PyTorch was compiled. On a Mac whose system is too old, or that has no such GPU, the choice is
`mps` all the same, and its first use raises

    RuntimeError: The MPS backend is supported on MacOS 13.0+.Current OS version can be queried using `sw_vers`

## Example
```python
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
```

## Use instead
```python
device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
```
`torch.accelerator` is there since PyTorch 2.6. For older ones, ask for each kind:
`"cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"`.

## Fix safety
The fix asks `torch.accelerator`, which is there since PyTorch 2.6, for a choice between `"cuda"` and `"cpu"` in one
expression, and `is_available()` in place of `is_built()`. It is unsafe: a program may have been tried on CUDA alone,
and not every operation is there on MPS. There is none where `target-torch` is older, and for a choice in the default of
a parameter.

## What it cannot see
Whether the other accelerators are of use: a program with kernels of its own for CUDA has no third choice. Choices by
an option of the user alone (`"cuda" if args.cuda else "cpu"`) are left alone, and so is every file that names another
kind of accelerator.

## References
- [torch.accelerator](https://docs.pytorch.org/docs/stable/accelerator.html)
- built but not available: pytorch/pytorch#78343, pytorch/pytorch#164943, sktime/pytorch-forecasting#1648
- [MPS backend](https://docs.pytorch.org/docs/stable/notes/mps.html): asks `is_available()` first, and `is_built()` only
  to say why it is not
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.portability import CudaOnlySelection
from torchdevlint.model import Applicability, Fix, Report, Severity
from torchdevlint.rules.edits import fix, replaced
from torchdevlint.rules.wording import code

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = '''
"""A choice that is a default value is made at import, and hiding every GPU after that has no effect."""
import os

import torch

NEEDS = "cuda"
OBSERVES = {"a tensor can be made on a hidden GPU": True}


def flagged(device):
    def build(place="cuda" if torch.cuda.is_available() else "cpu"):
        return torch.zeros(1, device=place)

    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    return observe(build)


def repaired(device):
    def build(place=None):
        return torch.zeros(1, device=place or ("cuda" if torch.cuda.is_available() else "cpu"))

    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    return observe(build)


def observe(build):
    return {"a tensor can be made on a hidden GPU": build().device.type == "cuda"}
'''

_NEW = 'torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")'


def check(fact: CudaOnlySelection) -> Iterator[Report]:
    if fact.form == "built":
        yield Report(
            span=fact.at,
            message="`torch.backends.mps.is_built()` says how PyTorch was compiled, not whether the device is there",
            symptom="where it is not, RuntimeError: The MPS backend is supported on MacOS 13.0+.",
            help="ask `torch.backends.mps.is_available()`",
            fix=_fix(fact, "ask whether it is available"),
            severity=Severity.ERROR,
        )
    elif fact.form == "default":
        yield Report(
            span=fact.at,
            message=f"the default value {code(fact.text)} is chosen once, when the module is imported",
            symptom="the visible devices are read at import, and setting `CUDA_VISIBLE_DEVICES` later has no effect",
            help="let the default be None, and choose in the function",
        )
    else:
        yield Report(
            span=fact.at,
            message=f"{code(fact.text)} knows CUDA and the CPU only",
            symptom="on other accelerators, such as Apple's or Intel's, the program runs on the CPU without a word",
            help=f"since PyTorch 2.6: `{_NEW}`",
            fix=_fix(fact, "choose whichever accelerator is there"),
        )


def _fix(fact: CudaOnlySelection, message: str) -> Fix | None:
    if fact.question_at is None:
        return None
    chosen = () if fact.cuda_at is None else (replaced(fact.cuda_at, fact.chosen),)
    return fix(Applicability.UNSAFE, message, replaced(fact.question_at, fact.question), *chosen)
