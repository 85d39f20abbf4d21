"""A tensor of the CPU is read with an index that is on an accelerator.

## What it does
Finds `table[index]` where the table was made on the CPU and the index is surely on an accelerator: schedules that a
plain class builds in `__init__`, constants of the module, feature banks, what was brought down by `.cpu()`. The report
stands at the index. A table that an attribute of a Module holds is reported by TDL101, one that `forward` makes by
TDL003, and one that a function makes for an argument by TDL014, each at the place where it is made.

## Why is this bad?
An index of the CPU may be used for a tensor of an accelerator, but not the other way round:

    RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)

Releases before 1.13 copied the index silently. Moving what was read, as in `table[index].to(x.device)`, comes too late:
it is the index that raises.

## Example
```python
class Schedule:
    def __init__(self, steps: int):
        self.alphas = torch.linspace(1.0, 0.0, steps)

    def scale(self, x: torch.Tensor, t: torch.Tensor):
        return self.alphas[t].to(x.device).view(len(t), 1) * x
```

## Use instead
```python
class Schedule:
    def __init__(self, steps: int):
        self.alphas = torch.linspace(1.0, 0.0, steps)

    def scale(self, x: torch.Tensor, t: torch.Tensor):
        return self.alphas.to(t.device)[t].view(len(t), 1) * x
```
A table that is read often is moved once, where the device is known. An index into a large table that has to stay on
the CPU is brought down: `bank[index.cpu()]`.

## Fix safety
The fix is unsafe: it moves the table where it is read, in each call; a large table is better moved once, or the index
brought down. There is no fix where no expression for the device of the index is surely bound there, or where the table
is written to.

## What it cannot see
Indices whose number of dimensions nothing shows: a 0-dim integer is read as a number and is right, wherever it is.
Neither does it see tables that a base of another file builds, or that come out of a file. Where the index comes from an
argument that callers in the same file keep on the CPU, it is silent.

## References
- [Tensor indexing](https://docs.pytorch.org/cppdocs/notes/tensor_indexing.html)
- CompVis/latent-diffusion#282, modelscope/modelscope#220, jayliu0313/Shape-Guided#11, aassxun/SEMICON#2,
  thangvubk/SoftGroup#215
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.mixed import Cause, cause_of, moved_there, symptom
from torchdevlint.rules.wording import code, edit, operand

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""A table of the CPU refuses an index of the accelerator, even if what is read is moved afterwards."""
import torch

NEEDS = "accelerator"
RAISES = {"RuntimeError": ["indices should be either on cpu or on the same device as the indexed tensor"]}


def flagged(device, place=lambda table, index: table):
    table, index = torch.linspace(0, 1, 5), torch.tensor([1, 3], device=device)
    return {"read": str(place(table, index)[index].to(device).device)}


def repaired(device):
    return flagged(device, lambda table, index: table.to(index.device))
'''


def check(fact: MixedDevices) -> Iterator[Report]:
    if cause_of(fact) is not Cause.TABLE:
        return
    if fact.creations and any(each.span < fact.creations[0].span for each in fact.creations):
        return
    table, index = fact.stayed, fact.other
    edits = moved_there(fact)
    found = {fact.at: ""}
    for creation in fact.creations:
        found.setdefault(creation.span, f"{code(creation.text)} is on the default device")
    for message, span in (*table.evidence, *index.evidence):
        found.setdefault(span, message)
    yield Report(
        span=fact.at,
        message=f"{code(table.text)} is on {table.device} and is read with {code(index.text)} on {index.device}",
        symptom=symptom(fact),
        help=_help(table.text, index.text),
        notes=tuple(Note(message, span) for span, message in found.items() if message),
        fix=Fix(Applicability.UNSAFE, f"move the table: {code(f'.to({fact.here})')}", edits) if edits else None,
    )


def _help(table: str, index: str) -> str:
    if "\n" in table + index:
        return "move the table to the device of the index before it is read, or the index to the CPU"
    moved = edit(f"{operand(table)}.to({operand(index)}.device)[{index}]")
    return f"move the table before it is read, {moved}, or the index to the CPU"
