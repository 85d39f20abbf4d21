"""A duration is taken around work on an accelerator that nothing waits for.

## What it does
Finds `time.perf_counter() - start` and its kin where a model or an operation ran on an accelerator since `start`, and
nothing in between can have waited for it: no `synchronize`, no `.item()`, `.cpu()`, `print` or `float` of a tensor. It
is advice, off unless it is selected.

## Why is this bad?
A kernel is queued and the call returns; the CPU is done long before the accelerator. The duration is that of the
queueing: it hardly depends on the size of the model, and the time of the work is added to whatever waits next, so that
the wrong part of a program looks slow. On the CPU, where nothing is queued, the same code measures what it says.

## Example
```python
import time

def measure(model, x, device):
    model.to(device)
    x = x.to(device)
    start = time.perf_counter()
    model(x)
    return time.perf_counter() - start
```

## Use instead
```python
import time

def measure(model, x, device):
    model.to(device)
    x = x.to(device)
    torch.cuda.synchronize()
    start = time.perf_counter()
    model(x)
    torch.cuda.synchronize()
    return time.perf_counter() - start
```
`torch.utils.benchmark.Timer` does this itself; two `torch.cuda.Event` with `enable_timing=True` measure without
stopping the queue.

## Fix safety
There is no fix: to wait changes how the program runs, and where it should wait is for the author to say.

## What it cannot see
Durations that two functions take together, or that are kept in attributes. Work in functions of other files. It is
silent as soon as something in between may have waited: functions that are not known and whose names speak of waiting,
and functions of the project that call such.

## References
- [Asynchronous execution](https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution)
- [PyTorch Benchmark](https://docs.pytorch.org/tutorials/recipes/recipes/benchmark.html)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from torchdevlint.flow.checks.operands.host_reads import is_off_host
from torchdevlint.flow.events import FunctionCalled, MethodCalled, ModuleCalled, Operated, UnknownCalled
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import CPU, literal
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Const, Seq, Tensor, Value
from torchdevlint.model import Note, Report, Severity, Span
from torchdevlint.patterns import regex
from torchdevlint.rules.wording import code
from torchdevlint.source.nodes import nodes_in

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = '''
"""Between the two readings of the clock nothing waits for the accelerator, unless the code asks for it."""
import time
from unittest import mock

import torch

NEEDS = "cuda"
OBSERVES = {"waits": 0}


def flagged(device):
    return measured(device, lambda: None)


def repaired(device):
    return measured(device, lambda: torch.cuda.synchronize())


def measured(device, wait):
    x = torch.ones(8, 8, device=device)
    with mock.patch("torch.cuda.synchronize", wraps=torch.cuda.synchronize) as synchronize:
        start = time.perf_counter()
        x @ x
        wait()
        assert time.perf_counter() >= start
    return {"waits": synchronize.call_count}
'''

_CLOCKS = """
    time.time time.time_ns time.perf_counter time.perf_counter_ns time.monotonic time.monotonic_ns timeit.default_timer
    """.split()
_WAITS = regex(r"sync|wait|barrier|join|flush|finish|drain|result|elapsed", re.IGNORECASE)
"""Names of functions that may wait for an accelerator."""
_READS = frozenset({"item", "tolist", "cpu", "numpy", "synchronize", "wait", "barrier", "elapsed_time", "query"})


class UnsynchronisedTiming(Fact, frozen=True):
    """The clock is read at `at` for a duration that began at `started_at`.

    `work` is the last call that queued work on an accelerator, at `queued_at`.
    """

    clock: str
    started_at: Span
    work: str
    queued_at: Span


class _Memory:
    """What is queued, and when the clock was read, in the function that is run."""

    def __init__(self) -> None:
        self.queued: dict[int, ast.AST] = {}
        """The last work of each activation that nothing has waited for."""
        self.read: dict[int, ast.Call] = {}
        """The last reading of the clock in each activation, if work was queued since then."""


def _note_clock(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``time.time()``: the end of a duration, the beginning of one, or both."""
    memory, machine = frame.machine.memory(_Memory), frame.machine
    for kind, observer in _WORK.items():
        machine.observe(kind, observer)
    start, work = memory.read.get(frame.activation), memory.queued.pop(frame.activation, None)
    memory.read[frame.activation] = node
    if start is None or work is None or not _is_duration(frame, node, start):
        return
    machine.record(
        ("timing", node),
        lambda: UnsynchronisedTiming(
            machine.span_of(node),
            machine.text_of(node),
            machine.span_of(start),
            machine.text_of(work.func if isinstance(work, ast.Call) else work),
            machine.span_of(work),
        ),
        state,
    )


def _is_duration(frame: Frame, end: ast.Call, start: ast.Call) -> bool:
    """Whether the function subtracts the reading `start` from the reading `end`."""
    scope = frame.function or frame.machine.tree
    return any(
        isinstance(each.op, ast.Sub) and _stands_for(scope, each.left, end) and _stands_for(scope, each.right, start)
        for each in nodes_in(scope, ast.BinOp)
    )


def _stands_for(scope: ast.AST, node: ast.expr, reading: ast.Call) -> bool:
    path = dotted_path(node) if isinstance(node, ast.Name) else None
    return node is reading or (path is not None and reading in values_by_path(scope).get(path, ()))


def _queue(frame: Frame, node: ast.AST) -> None:
    """Work begins in this activation, and so in those that called it."""
    memory, around = frame.machine.memory(_Memory), frame
    while True:
        if around.activation in memory.read:
            memory.queued[around.activation] = node
        if around.called_at is None:
            return
        node, around = around.called_at


def _wait(frame: Frame) -> None:
    frame.machine.memory(_Memory).queued.clear()


def _note_module(event: ModuleCalled) -> None:
    if any(_is_there(event.frame, each) for each in event.arguments.all_values):
        _queue(event.frame, event.node)


def _note_operation(event: Operated) -> None:
    if any(_is_there(event.frame, value) for _, value in event.operands):
        _queue(event.frame, event.node)


def _note_unknown(event: UnknownCalled) -> None:
    """A call of something unknown that is given tensors of the accelerator, such as a model; or one that may wait."""
    if _WAITS.search(last_name(event.node.func)):
        _wait(event.frame)
    elif any(_is_there(event.frame, each) for each in event.arguments.all_values):
        _queue(event.frame, event.node)


def _note_function(event: FunctionCalled) -> None:
    named = {each.attr for each in nodes_in(event.function.node, ast.Attribute)}
    if not named.isdisjoint(_READS) or any(map(_WAITS.search, (*named, event.function.qualname))):
        _wait(event.frame)


def _note_method(event: MethodCalled) -> None:
    """``x.item()``, ``stream.synchronize()``, ``x.to("cpu")``."""
    name, given = last_name(event.node.func), event.arguments.value(0, "device")
    to_cpu = name == "to" and isinstance(given, Const) and literal(str(given.value)) == CPU
    if name in _READS or to_cpu or _WAITS.search(name):
        _wait(event.frame)


def _note_wait(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``torch.cuda.synchronize()``; ``print(x)`` and ``float(x)`` of what is on an accelerator."""
    if name not in _READING or any(_is_there(frame, each) for each in arguments.values):
        _wait(frame)


def _is_there(frame: Frame, value: Value) -> bool:
    """Whether it is a tensor on an accelerator, or a list or tuple with one."""
    parts = (value.items or value.members) if isinstance(value, Seq) else (value,)
    return any(isinstance(each, Tensor) and is_off_host(frame, each) for each in parts)


_READING = frozenset(f"builtins.{name}" for name in "print float int bool str list sum max min any all sorted".split())
_SYNCHRONISING = """
    torch.cuda.synchronize torch.accelerator.synchronize torch.mps.synchronize torch.xpu.synchronize
    torch.distributed.barrier torch.cuda.empty_cache
    """.split()
_WORK: dict[type, Callable[..., None]] = {
    ModuleCalled: _note_module,
    Operated: _note_operation,
    UnknownCalled: _note_unknown,
    FunctionCalled: _note_function,
    MethodCalled: _note_method,
}
FUNCTIONS = {
    **dict.fromkeys(_CLOCKS, _note_clock),
    **dict.fromkeys((*_READING, *_SYNCHRONISING), _note_wait),
}


def check(fact: UnsynchronisedTiming) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=f"nothing waits for {code(fact.work)} before {code(fact.clock)} ends a duration",
        symptom="nothing raises: on an accelerator the duration is that of queueing the work, not of doing it",
        help="call `torch.cuda.synchronize()` before the clock is read, or use `torch.utils.benchmark.Timer`",
        notes=(Note("the duration begins here", fact.started_at), Note("the work is queued here", fact.queued_at)),
    )
