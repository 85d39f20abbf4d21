"""A process is forked after CUDA was touched, and uses CUDA itself.

## What it does
Finds `Process(target=work).start()`, `Pool()` and `ProcessPoolExecutor()` after a call that touched CUDA on the same
path, where the function that the new process runs surely needs an accelerator: it moves something there, makes
something there, or asks the driver. Calls of other functions and methods of the file are followed.

## Why is this bad?
On Linux, processes are forked (the default start method before Python 3.14). A forked process has a copy of its
parent's memory, but the driver's state cannot be copied, and torch refuses to begin again:

    RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use
    the 'spawn' start method

The question `torch.cuda.is_available()` is enough to spoil what is forked later. With a `Process` the exception is
printed by the child, and the parent goes on, or waits for a result that never comes.

## Example
```python
import torch.multiprocessing as mp

def work(queue):
    queue.put(torch.zeros(8, device="cuda").sum().item())

def main(queue):
    if torch.cuda.is_available():
        process = mp.Process(target=work, args=(queue,))
        process.start()
```

## Use instead
```python
import torch.multiprocessing as mp

def work(queue):
    queue.put(torch.zeros(8, device="cuda").sum().item())

def main(queue):
    context = mp.get_context("spawn")
    if torch.cuda.is_available():
        process = context.Process(target=work, args=(queue,))
        process.start()
```
or start the processes before anything asks for CUDA.

## Fix safety
There is no automatic fix: processes that are spawned import the program anew, and what they are given is pickled.

## What it cannot see
`os.fork()`; functions of other files; processes that are given a tensor or a model on the GPU and only compute with it.
What an import of another file touches. A start method that another file sets is not seen either, nor one that is no
fork by default (Windows, macOS; *forkserver* on Linux since Python 3.14): nothing raises there.

## References
- [CUDA in multiprocessing](https://docs.pytorch.org/docs/stable/notes/multiprocessing.html#cuda-in-multiprocessing)
- [Contexts and start methods](https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods)
- pytorch/pytorch#2971, pytorch/pytorch#40403, justheuristic/prefetch_generator#9
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.processes import AcceleratorAfterFork
from torchdevlint.model import Note, Report, Severity
from torchdevlint.rules.wording import code

SEVERITY = Severity.WARNING
EXECUTION = None
PROBE = '''
"""A process that is forked after `torch.cuda.is_available()` cannot use CUDA; one that is forked before it can."""
import multiprocessing

import torch

NEEDS = "cuda"
OBSERVES = {"exit code": 1}


def work():
    torch.zeros(1, device="cuda")


def flagged(device, late=True):
    if late:
        torch.cuda.is_available()
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    return {"exit code": process.exitcode}


def repaired(device):
    return flagged(device, late=False)
'''


def check(fact: AcceleratorAfterFork) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} forks after {code(fact.cause)} has touched CUDA, and the new process uses it",
        symptom="RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you "
        "must use the 'spawn' start method",
        help='start it with `multiprocessing.get_context("spawn")`, or before anything asks for CUDA',
        notes=(
            Note(f"{code(fact.cause)} touches CUDA here", fact.cause_at),
            Note(f"the new process runs {code(fact.used)}", fact.used_at),
        ),
    )
