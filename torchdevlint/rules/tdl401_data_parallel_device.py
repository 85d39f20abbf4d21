"""A model in `DataParallel` is not on the first of the wrapper's GPUs.

## What it does
Finds `nn.DataParallel(model)` that is called while `model` is on another GPU than `device_ids[0]` (`cuda:0`, if no list
is given), was moved back to the CPU, or was never moved at all.

## Why is this bad?
`DataParallel` copies the parameters from its first GPU to the others at every call, and looks first whether they are
there:

    RuntimeError: module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them
    on device: cuda:1

A model that was never moved is found `on device: cpu`. With no GPU the wrapper hands the call through, and with a
single one the constructor moves the model itself, so the line fails first on a machine with several.

## Example
```python
model = nn.DataParallel(nn.Linear(4, 2).to("cuda:1"))
model(torch.rand(8, 4))
```

## Use instead
```python
model = nn.DataParallel(nn.Linear(4, 2).to("cuda:1"), device_ids=[1, 0])
model(torch.rand(8, 4))
```
The first of `device_ids` is where the model has to be and where the outputs are gathered. To use other physical GPUs,
it is simpler to set `CUDA_VISIBLE_DEVICES` before the program starts, and leave the numbers alone.

## Fix safety
Unsafe, since the model may be what is in the wrong place. A list of numbers that holds the GPU of the model is made
to begin with it. A model that was never moved is moved to the device that the program has a variable for, where that is
surely bound at the wrapper. There is no fix where nothing says which GPU is meant: a move to `cuda:0`, which the
wrapper of several GPUs wants, would stop the program where there is none and the wrapper does nothing.

## What it cannot see
Devices that come from the command line or from a configuration, a list of GPUs that is computed, a wrapper that is
called in another file, and models that the file hands to functions or to optimizers of which it is not sure that they
leave them where they are.

## References
- [torch.nn.DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): "The parallelized
  module must have its parameters and buffers on device_ids[0] before running this module"
- Another GPU: google-research/big_transfer#73, wangguanan/HOReID#28, Morizeyao/GPT2-Chinese#165
- `torch.cuda.set_device`: replicate/cog#971
- On the CPU: JDAI-CV/FaceX-Zoo#68, d2l-ai/d2l-en#2461
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.parallel import DataParallelElsewhere
from torchdevlint.model import Applicability, Fix, Note, Report, Severity
from torchdevlint.rules.edits import call_added, fix, replaced
from torchdevlint.rules.wording import code

SEVERITY = Severity.ERROR
EXECUTION = "operation"
PROBE = '''
"""`DataParallel` refuses a model that is not on the first of its GPUs."""
import torch

NEEDS = "two"
RAISES = {"RuntimeError": ["module must have its parameters and buffers on device cuda:0 (device_ids[0])"]}


def flagged(device):
    model = torch.nn.DataParallel(torch.nn.Linear(4, 2).to("cuda:1"))
    return {"rows": len(model(torch.rand(8, 4)))}


def repaired(device):
    model = torch.nn.DataParallel(torch.nn.Linear(4, 2).to("cuda:1"), device_ids=[1, 0])
    return {"rows": len(model(torch.rand(8, 4)))}
'''


def check(fact: DataParallelElsewhere) -> Iterator[Report]:
    where = f"is on {fact.found}" if fact.found else "is never moved from the CPU"
    notes = [Note(f"moved to {fact.found} here", fact.moved_at)] if fact.moved_at is not None else []
    notes.append(Note("the wrapper is called here", fact.called_at))
    place = fact.found or "cpu"
    listed = "the first of `device_ids`" if fact.listed else "the first of all GPUs"
    yield Report(
        span=fact.at,
        message=f"{code(fact.model)} {where}, and `DataParallel` wants it on {fact.first}, {listed}",
        symptom=f"RuntimeError: module must have its parameters and buffers on device {fact.first} (device_ids[0]) but "
        f"found one of them on device: {place}",
        help=_help(fact),
        notes=tuple(notes),
        fix=_fix(fact),
    )


def _help(fact: DataParallelElsewhere) -> str:
    if fact.found.startswith("cuda"):
        index = fact.found.partition(":")[2]
        return f"move the model to {fact.first}, or begin the list with its GPU: `device_ids=[{index}, ...]`"
    return f"move the model to {fact.first} before the wrapper is called"


def _fix(fact: DataParallelElsewhere) -> Fix | None:
    if fact.ids_at is not None:
        first = replaced(fact.ids_at, fact.ids)
        return fix(Applicability.UNSAFE, f"begin the list with the GPU of the model: {code(fact.ids)}", first)
    if not fact.device:
        return None
    moved = call_added(fact.model, fact.model_at, f".to({fact.device})")
    return fix(Applicability.UNSAFE, f"move the model to {code(fact.device)} first", *moved)
