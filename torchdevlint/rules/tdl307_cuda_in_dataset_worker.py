"""The workers of a loader use an accelerator.

## What it does
Finds a `DataLoader` with `num_workers` above 0 whose workers need an accelerator: the data set's `__getitem__` (or
`__iter__`), the `collate_fn` or the `worker_init_fn` moves a tensor there, makes one there or sets a device, or the
data set holds tensors that are there already. Calls of other functions and methods are followed; a data set of another
file of the project is reported at the loader.

## Why is this bad?
On Linux, workers are forked (the default start method before Python 3.14), and a forked process cannot use CUDA once
its parent did, which a training program does when it moves its model. The first batch dies with

    RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use
    the 'spawn' start method

With `num_workers=0`, and on the CPU, the same code works.

## Example
```python
from torch.utils.data import DataLoader, Dataset

class Frames(Dataset):
    def __init__(self, frames, device):
        self.frames, self.device = frames, device

    def __getitem__(self, index):
        return self.frames[index].to(self.device)

def train(frames, model, device):
    model.to(device)
    for batch in DataLoader(Frames(frames, device), batch_size=8, num_workers=4):
        model(batch)
```

## Use instead
```python
from torch.utils.data import DataLoader, Dataset

class Frames(Dataset):
    def __init__(self, frames):
        self.frames = frames

    def __getitem__(self, index):
        return self.frames[index]

def train(frames, model, device):
    model.to(device)
    for batch in DataLoader(Frames(frames), batch_size=8, num_workers=4, pin_memory=True):
        model(batch.to(device, non_blocking=True))
```
Workers prepare batches on the CPU, pinning and an asynchronous copy bring them over. Data that is on the GPU as a whole
needs no workers: `num_workers=0`. With `multiprocessing_context="spawn"` workers can use CUDA; each then has a CUDA
context of its own, which takes some hundred MB.

## Fix safety
There is no automatic fix: whether the move goes into the training loop or the workers go away, its author decides.

## What it cannot see
A data set that is not made in the file of its loader; `num_workers` that comes from elsewhere and has no default here;
moves under a condition whose outcome is not known, such as `if args.gpu:`. Where the start method is set to *spawn* in
another file, or is that by default (Windows, macOS; *forkserver* on Linux since Python 3.14), nothing raises; nor does
it in a program whose own process leaves CUDA alone, where each worker starts a CUDA context of its own.

## References
- [CUDA in multiprocessing](https://docs.pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing)
- [torch.utils.data](https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading): "It is generally not
  recommended to return CUDA tensors in multi-process loading"
- pytorch/pytorch#40403, pytorch/pytorch#77159, pytorch/pytorch#1494, cfzd/Ultra-Fast-Lane-Detection-v2#160,
  justheuristic/prefetch_generator#9
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.processes import AcceleratorInWorker
from torchdevlint.model import Note, Report, Severity
from torchdevlint.rules.wording import code

SEVERITY = Severity.ERROR
EXECUTION = None
PROBE = '''
"""A forked worker cannot move its samples to the CUDA device that its parent uses; the training loop can."""
import torch
from torch.utils.data import DataLoader, Dataset

NEEDS = "cuda"
RAISES = {"RuntimeError": ["Cannot re-initialize CUDA in forked subprocess", "CUDA error: initialization error"]}


class Frames(Dataset):
    def __init__(self, device):
        self.device = device

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.ones(2).to(self.device)


def flagged(device, workers_on=None):
    torch.zeros(1, device=device)
    loader = DataLoader(Frames(workers_on or device), num_workers=1, multiprocessing_context="fork")
    return {"sum": float(sum(batch.to(device).sum() for batch in loader))}


def repaired(device):
    return flagged(device, "cpu")
'''


def check(fact: AcceleratorInWorker) -> Iterator[Report]:
    if not fact.stored:
        message = f"{code(fact.text)} runs in workers of a `DataLoader`, as part of `{fact.function}`"
    elif fact.function:
        message = f"workers of a `DataLoader` read what {code(fact.text)} gave, in `{fact.function}`"
    else:
        message = f"workers of a `DataLoader` read what {code(fact.text)} gave"
    if fact.at == fact.loader_at:
        note = Note("it is put there here" if fact.stored else "the accelerator is used here", fact.used_at)
    else:
        note = Note("the loader starts workers here", fact.loader_at)
    yield Report(
        span=fact.at,
        message=f"{message}: a forked process cannot use CUDA",
        symptom="RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you "
        "must use the 'spawn' start method",
        help="leave data on the CPU in workers and move each batch in the training loop, or use `num_workers=0`",
        notes=(note,),
    )
