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

import ast
from collections.abc import Iterator, Mapping, Sequence

from torchdevlint.flow.checks.processes.children import run_in_child
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.kinds.start_method import EXECUTOR, POOL, POOLS, PROCESS, forks
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.touch import Touch
from torchdevlint.flow.state.values import UNKNOWN, Library, Map, Obj, Seq, Value
from torchdevlint.model import Note, Report, Severity, Span
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


class AcceleratorAfterFork(Fact, frozen=True):
    """A process is forked after CUDA was touched, and needs an accelerator itself.

    `text` is the call that forks, `cause` what touched CUDA before, at `cause_at`, and `used` what the new process does
    first with an accelerator, at `used_at`.
    """

    text: str
    cause: str
    cause_at: Span
    used: str
    used_at: Span


_MAPS = frozenset("map map_async imap imap_unordered apply apply_async starmap starmap_async submit".split())


def _start(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``process.start()``."""
    if state.touched_before is None:
        return
    if isinstance(receiver, Library) and receiver.name == PROCESS:
        target, positional, keywords = receiver.children
        _check(frame, state, node, node, state.touched_before, target, _items(positional), _named(keywords))
    elif isinstance(receiver, Obj) and any(_is_process(name) for name in receiver.info.library_bases):
        if "start" in receiver.info.all_methods:
            return
        run = receiver.info.method("run", receiver)
        if run is not None:
            _check(frame, state, node, node, state.touched_before, run, (), {})


class _Memory:
    """The pools of processes of one file that were made after CUDA was touched, and what touched it."""

    def __init__(self) -> None:
        self.pools: dict[ast.AST, Touch] = {}


def _task(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``pool.map(function, items)``: the processes were forked when the pool was made, or are now."""
    if not isinstance(receiver, Library) or receiver.name != POOL or receiver.made_at is None:
        return
    made = frame.machine.memory(_Memory).pools.get(receiver.made_at)
    if made is not None and arguments.positional:
        items = [UNKNOWN for _ in arguments.positional[1:]] or [UNKNOWN]
        _check(frame, state, node, receiver.made_at, made, arguments.positional[0][1], items, {})


def _pool(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``Pool(4)``: what CUDA has done before is what its processes begin with."""
    touched = state.touched_before
    if touched is None:
        return
    frame.machine.memory(_Memory).pools.setdefault(node, touched)
    initializer = arguments.keywords.get("initializer") or arguments.get(1, "initializer")
    if initializer is not None and name != EXECUTOR:
        _check(frame, state, node, node, touched, initializer[1], _items(arguments.value(2, "initargs")), {})


def _check(
    frame: Frame,
    state: State,
    node: ast.Call,
    fork: ast.AST,
    touch: Touch,
    function: Value,
    arguments: Sequence[Value],
    keywords: Mapping[str, Value],
) -> None:
    """Record a fork after `touch` if what the process runs surely needs an accelerator."""
    machine = frame.machine
    if machine.muted or state.without_accelerator or not forks(frame, None):
        return
    used, _ = run_in_child(frame, node, function, arguments, keywords)
    if used is None:
        return
    machine.record(
        ("fork", touch.node, used.node),
        lambda: AcceleratorAfterFork(
            machine.span_of(fork),
            machine.text_of(fork),
            touch.text,
            machine.span_of(touch.node),
            used.text,
            machine.span_of(used.node),
        ),
        state,
    )


def _items(value: Value) -> tuple[Value, ...]:
    """What ``args=(a, b)`` gives; what it does not say is not known to the function either."""
    return value.items if isinstance(value, Seq) and value.items is not None else ()


def _named(value: Value) -> dict[str, Value]:
    return {str(key): each for key, each in value.items} if isinstance(value, Map) else {}


def _is_process(name: str) -> bool:
    return name.startswith(("multiprocessing.", "torch.multiprocessing.")) and name.endswith(".Process")


FUNCTIONS = dict.fromkeys((*POOLS, EXECUTOR), _pool)
METHODS = {"start": _start, **dict.fromkeys(sorted(_MAPS), _task)}


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
