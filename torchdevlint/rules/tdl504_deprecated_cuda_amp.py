"""Mixed precision comes from `torch.cuda.amp`, which is deprecated and for CUDA alone.

## What it does
Finds calls of `torch.cuda.amp.autocast` and `torch.cuda.amp.GradScaler`, and the decorators
`torch.cuda.amp.custom_fwd` and `custom_bwd`, however they were imported. It is advice, off unless it is selected.

## Why is this bad?
Each call warns since PyTorch 2.4:

    FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)`
    instead.

`torch.amp` has the same classes for every accelerator, and takes the device type as an argument, so that code which
says where it runs once needs no second version.

## Example
```python
scaler = torch.cuda.amp.GradScaler()
with torch.cuda.amp.autocast():
    loss = nn.Linear(4, 2)(torch.ones(1, 4)).sum()
```

## Use instead
```python
scaler = torch.amp.GradScaler("cuda")
with torch.amp.autocast("cuda"):
    loss = nn.Linear(4, 2)(torch.ones(1, 4)).sum()
```
Where the device is known by its variable, `torch.amp.autocast(device.type)`.

## Fix safety
A call that is written with its whole name gets a safe fix: the classes of `torch.cuda.amp` do nothing but call those of
`torch.amp`. The first argument of `torch.cuda.amp.autocast` is `enabled`, that of `torch.amp.autocast` the device type,
so that the fix writes `enabled=`. Names that were imported have no fix, since the import would have to change too; nor
has a class that the file asks an object for, since the new one is its base.

## What it cannot see
For which releases of PyTorch the code is written, unless `target-torch` says so: `torch.amp.GradScaler` is there since
2.3. Files that use `torch.amp` as well, and places under a test of the version, are left alone.

## References
- [torch.cuda.amp](https://docs.pytorch.org/docs/stable/amp.html#deprecated-ops): "`torch.cuda.amp.autocast(args...)` is
  deprecated"
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.portability import DeprecatedAmp
from torchdevlint.model import Applicability, Edit, Fix, Report, Severity
from torchdevlint.rules.wording import edit

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = '''
"""`torch.cuda.amp` warns that it is deprecated; `torch.amp` does not."""
import warnings

import torch

NEEDS = "cpu"
OBSERVES = {"warned of a deprecation": True}


def flagged(device):
    return observe(lambda: torch.cuda.amp.autocast(enabled=False))


def repaired(device):
    return observe(lambda: torch.amp.autocast("cuda", enabled=False))


def observe(make):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make()
    return {"warned of a deprecation": any("is deprecated" in str(each.message) for each in caught)}
'''


def check(fact: DeprecatedAmp) -> Iterator[Report]:
    old = f"torch.cuda.amp.{fact.name}"
    fix = None
    if fact.replacement is not None and fact.text.startswith(old) and "\n" not in fact.text:
        edits = (Edit(fact.replacement, fact.at),)
        fix = Fix(Applicability.SAFE, f"write `torch.amp.{fact.name}`", edits)
    yield Report(
        span=fact.at,
        message=f"`{old}` is deprecated, and for CUDA alone",
        symptom=f"FutureWarning: `{old}(args...)` is deprecated. Please use `{_new(fact.name)}` instead.",
        help=f"write {edit(fact.replacement or _new(fact.name))}, or the type of the device that is used",
        fix=fix,
    )


def _new(name: str) -> str:
    """The new form in the words of the warning."""
    device = "args..., device_type='cuda'" if name.startswith("custom") else "'cuda', args..."
    return f"torch.amp.{name}({device})"
