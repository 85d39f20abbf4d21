"""A copy to the CPU with `non_blocking=True` is read before anything has waited for it.

## What it does
Finds `t.to("cpu", non_blocking=True)` of a tensor that is on an accelerator, whose result the CPU then calculates with,
prints, turns into a number or gives to NumPy, while nothing in between can have waited for the accelerator. The report
stands at the first read.

## Why is this bad?
The copy goes into pinned memory and is still under way when `.to` returns. Towards an accelerator that is harmless,
because what uses the tensor there is queued behind the copy; the CPU queues behind nothing. Nothing raises: what is
read are zeros, values of an earlier batch, or a half of each, and which of these depends on the load of the machine.

## Example
```python
def predict(model, x, device):
    model.to(device)
    scores = model(x.to(device)).to("cpu", non_blocking=True)
    return scores.argmax(1)
```

## Use instead
```python
def predict(model, x, device):
    model.to(device)
    scores = model(x.to(device)).to("cpu")
    return scores.argmax(1)
```
Where several copies are to overlap, start all of them, and call `torch.cuda.synchronize()`, or `synchronize()` of an
event that was recorded behind them, before the first is read.

## Fix safety
The fix is safe: it leaves `non_blocking=True` out of the copy, which then waits until the values are there. It may wait
more often than necessary. Where `non_blocking` is given by its position, there is no fix.

## What it cannot see
Reads in functions of other files, and copies into a buffer by `copy_(t, non_blocking=True)`. It is silent as soon as a
call in between may have waited: `synchronize`, `.item()` and `.cpu()` of another tensor, and functions whose names
speak of waiting. `.numpy()` alone only gives another view of the memory, and reads nothing. A copy from MPS blocks. The
first ones of a list of copies (`copies[:n]`) are taken to be complete.

## References
- [torch.Tensor.to](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html)
- [Good usage of non_blocking and pin_memory](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html):
  copies to the CPU need a synchronization
- pytorch/pytorch#86264, pytorch/pytorch#127612, pytorch/pytorch#140296, sgl-project/sglang#16493
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from torchdevlint.flow.checks.operands.host_reads import is_off_host
from torchdevlint.flow.events import FunctionCalled, LibraryCalled, Operated, UnknownCalled
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.knowledge.array_readers import reads_on_host
from torchdevlint.flow.knowledge.libraries import ARRAY
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import CPU, TOP, Device, literal, on_cpu
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import (
    UNKNOWN,
    Const,
    Dev,
    Library,
    Seq,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.model import Applicability, Fix, Note, Report, Severity, Span
from torchdevlint.patterns import regex
from torchdevlint.rules.edits import argument_removed
from torchdevlint.rules.wording import code
from torchdevlint.source.nodes import nodes_in

SEVERITY = Severity.ERROR
EXECUTION = None
PROBE = '''
"""A copy to the CPU that does not block goes into pinned memory, which is how it can go on after the call."""
import torch

NEEDS = "cuda"
OBSERVES = {"pinned": True}


def flagged(device, non_blocking=True):
    copied = torch.ones(2, device=device).to("cpu", non_blocking=non_blocking)
    return {"pinned": copied.is_pinned()}


def repaired(device):
    return flagged(device, non_blocking=False)
'''


class ReadBeforeSync(Fact, frozen=True):
    """The CPU reads what a copy is still writing.

    `value` is the text of what is read at `at`; `copy` the call that copies without blocking, at `copied_at`, and
    `source` what says where it copies from.
    """

    value: str
    copy: str
    copied_at: Span
    source: str


_WAITS = regex(r"sync|wait|barrier|join|flush|finish|drain|result", re.IGNORECASE)
"""Names of functions that may wait for an accelerator."""
_VIEWS = frozenset(
    """
    view view_as reshape squeeze unsqueeze transpose permute t swapaxes movedim expand expand_as narrow select detach
    diagonal unfold unflatten chunk split tensor_split unbind contiguous requires_grad_ numpy
    """.split()
)
"""What gives the same memory, and reads nothing."""


class _Memory:
    """Which copies are under way in one file."""

    def __init__(self) -> None:
        self.copies: dict[ast.AST, int] = {}
        """Copies to the CPU that do not block, and what `waits` was when they began."""
        self.waits = 0
        """How many calls so far may have waited for an accelerator."""


def _note_to(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``t.to("cpu", non_blocking=True)`` of what is on an accelerator; without the flag, it waits for all before."""
    device, memory = _target(arguments), frame.machine.memory(_Memory)
    if device != CPU:
        return
    if not isinstance(receiver, Tensor):
        memory.waits += 1
    elif not on_cpu(receiver.device):
        if arguments.keyword_values.get("non_blocking") != Const(True):
            memory.waits += 1
        elif is_off_host(frame, receiver) and receiver.device.name != "mps":
            memory.copies[node] = memory.waits
            for kind, observer in _WHILE_COPYING.items():
                frame.machine.observe(kind, observer)


def _target(arguments: Arguments) -> Device:
    given = arguments.get(0, "device")
    value = UNKNOWN if given is None else given[1]
    if isinstance(value, Const) and isinstance(value.value, str):
        return literal(value.value)
    return value.device if isinstance(value, Dev) else TOP


def _copy_of(machine: Machine, value: Value) -> ast.AST | None:
    """The copy that nothing has waited for and that a tensor, or an array of it, is the result of."""
    if isinstance(value, Library) and value.name == ARRAY:
        return _copy_of(machine, value.children[0])
    if not isinstance(value, Tensor) or value.device != CPU or not value.steps:
        return None
    copy = value.steps[-1].node
    memory = machine.memory(_Memory)
    return copy if memory.copies.get(copy) == memory.waits else None


def note_read(frame: Frame, state: State, node: ast.AST, value_node: ast.expr, value: Value) -> None:
    """The CPU reads `value` at `node`."""
    machine = frame.machine
    copy = _copy_of(machine, value)
    if not isinstance(copy, ast.Call) or not isinstance(copy.func, ast.Attribute):
        return
    if _leaves_last_off(frame, state, value_node):
        return
    source = machine.text_of(copy.func.value)
    machine.record(
        ("read", copy),
        lambda: ReadBeforeSync(
            machine.span_of(node), machine.text_of(value_node), machine.text_of(copy), machine.span_of(copy), source
        ),
        state,
    )


def _leaves_last_off(frame: Frame, state: State, node: ast.expr) -> bool:
    """``copies[:n]``: the first ones of a list, which grows by a copy a round, were made rounds ago."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice) or node.slice.upper is None:
        return False
    return isinstance(frame.evaluate(node.value, state), Seq)


def _note_operands(event: Operated) -> None:
    """An operation reads its operands, unless it gives another view of them."""
    if event.operation.strip("`.()").rpartition(".")[2] not in _VIEWS:
        _note_reads(event.frame, event.state, event.node, event.operands)


def _note_reads(frame: Frame, state: State, node: ast.AST, operands: list[tuple[ast.expr, Value]]) -> None:
    for at, value in operands:
        note_read(frame, state, node, at, value)


def _note_library(event: LibraryCalled) -> None:
    """A call that reads through NumPy, or one that may wait, by its name."""
    if reads_on_host(event.name):
        operands = [each for given in event.arguments.pairs for each in tensor_operands(*given)]
        _note_reads(event.frame, event.state, event.node, operands)
    _note_unknown(event)


def _note_unknown(event: LibraryCalled | UnknownCalled) -> None:
    name = (dotted_path(event.node.func) or "").rpartition(".")[2]
    event.frame.machine.memory(_Memory).waits += bool(_WAITS.search(name))


def _note_function(event: FunctionCalled) -> None:
    """A function of the project that calls what may wait."""
    named = (each.attr for each in nodes_in(event.function.node, ast.Attribute))
    event.frame.machine.memory(_Memory).waits += any(_WAITS.search(each) for each in named)


def _note_own_read(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``t.item()``, ``array.mean()``; of what is elsewhere, such a method waits."""
    read = node.func.value  # type: ignore[attr-defined]
    if isinstance(receiver, Library) and receiver.name == ARRAY:
        note_read(frame, state, node, read, receiver)
    elif not isinstance(receiver, Tensor) or not on_cpu(receiver.device):
        frame.machine.memory(_Memory).waits += isinstance(receiver, (Tensor, Unknown)) and node.func.attr in _COPIES  # type: ignore[attr-defined]
    elif node.func.attr in ("item", "tolist"):  # type: ignore[attr-defined]
        note_read(frame, state, node, read, receiver)


_COPIES = frozenset("item tolist cpu numpy".split())


def _note_wait(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    frame.machine.memory(_Memory).waits += 1


def _note_builtin(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``float(t)`` and ``print(t)`` read what they are given; of what is elsewhere, they wait for it."""
    for at, value in arguments.positional:
        for each in (value.items or ()) if isinstance(value, Seq) else (value,):
            note_read(frame, state, node, at, each)
            frame.machine.memory(_Memory).waits += isinstance(each, Tensor) and not on_cpu(each.device)


_READING = "mean sum max min std any all round astype copy argmax argsort tolist item tobytes tofile dump cpu numpy"
METHODS = {
    "to": _note_to,
    **dict.fromkeys(_READING.split(), _note_own_read),
    **dict.fromkeys("synchronize wait barrier join result".split(), _note_wait),
}
FUNCTIONS = dict.fromkeys(
    (f"builtins.{name}" for name in "float int bool print list tuple sum max min str sorted any all".split()),
    _note_builtin,
)
_WHILE_COPYING: dict[type, Callable[..., None]] = {
    Operated: _note_operands,
    LibraryCalled: _note_library,
    FunctionCalled: _note_function,
    UnknownCalled: _note_unknown,
}


def check(fact: ReadBeforeSync) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=f"{code(fact.value)} is read while the copy of {code(fact.source)} to the CPU may still be going on",
        symptom="nothing raises: what is read may be zeros, values of an earlier copy, or a part of this one",
        help="leave out `non_blocking=True`, or call `torch.cuda.synchronize()` before it is read",
        notes=() if fact.copied_at == fact.at else (Note(f"{code(fact.copy)} does not wait", fact.copied_at),),
        fix=_fix(fact),
    )


def _fix(fact: ReadBeforeSync) -> Fix | None:
    removed = None if fact.copied_at.file else argument_removed(fact.copy, fact.copied_at, "non_blocking")
    return None if removed is None else Fix(Applicability.SAFE, "leave out `non_blocking`", (removed,))
