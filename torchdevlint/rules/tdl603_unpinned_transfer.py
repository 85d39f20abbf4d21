"""Batches are moved to an accelerator from memory that is not pinned.

## What it does
Finds a `DataLoader` that is not told whether to pin its memory, and whose batches a loop of the same file moves to an
accelerator. It is advice, off unless it is selected.

## Why is this bad?
The driver can copy from pinned memory only. Any other batch it first copies to a pinned buffer of its own, while the
program waits; `non_blocking=True` then has no effect. With `pin_memory=True` a thread of the loader does that ahead of
time.

## Example
```python
def train(model, data, device):
    loader = torch.utils.data.DataLoader(data, batch_size=32)
    for x, y in loader:
        loss = model(x.to(device), y.to(device))
```

## Use instead
```python
def train(model, data, device):
    loader = torch.utils.data.DataLoader(data, batch_size=32, pin_memory=True)
    for x, y in loader:
        loss = model(x.to(device, non_blocking=True), y.to(device, non_blocking=True))
```
On a machine without an accelerator, `pin_memory=True` does nothing but warn: `pin_memory=device.type == "cuda"` says it
without that.

## Fix safety
There is no fix: pinned memory is memory that the system cannot use for anything else.

## What it cannot see
How large the batches are: for a few numbers it makes no difference. Loaders that come from elsewhere, and those that
are given `**kwargs`. `pin_memory=False` is a decision and is left alone.

## References
- [Memory pinning](https://docs.pytorch.org/docs/stable/data.html#memory-pinning)
- [A guide on good usage of non_blocking and pin_memory](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.run.moves import method_device, to_device
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import LOADER, VALUELESS_TYPES, Origin, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Const, Tensor, Value
from torchdevlint.model import Note, Report, Severity, Span
from torchdevlint.rules.wording import code

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = '''
"""The batches of a loader are in pinned memory only if it is told to pin them."""
import torch

NEEDS = "cuda"
OBSERVES = {"pinned": False}


def flagged(device):
    return pinned(torch.utils.data.DataLoader(torch.ones(4, 2)))


def repaired(device):
    return pinned(torch.utils.data.DataLoader(torch.ones(4, 2), pin_memory=True))


def pinned(loader):
    return {"pinned": all(batch.is_pinned() for batch in loader)}
'''


class UnpinnedLoader(Fact, frozen=True):
    """A loader whose batches are moved to an accelerator from memory that is not pinned.

    `move` is the text of the first move of a batch, at `moved_at`; `asynchronous` whether it says ``non_blocking``.
    """

    move: str
    moved_at: Span
    asynchronous: bool


def _move(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    machine, callee = frame.machine, node.func
    if not isinstance(receiver, Tensor) or receiver.device != LOADER:
        return
    known = machine.loaders.get(receiver.steps[0].node) if receiver.steps else None
    loader = None if known is None else known.made_at
    if not isinstance(loader, ast.Call) or not isinstance(callee, ast.Attribute) or not _is_unpinned(loader):
        return
    device = to_device(frame, arguments) if callee.attr == "to" else method_device(frame, callee.attr, arguments)
    if device is None or device.origin is Origin.TOP or on_cpu(device) or device.name in (*VALUELESS_TYPES, "mps"):
        return
    asynchronous = arguments.keyword_values.get("non_blocking") == Const(True)
    machine.record(
        ("unpinned", loader, "loader"),
        lambda: UnpinnedLoader(machine.span_of(loader), machine.text_of(node), machine.span_of(node), asynchronous),
        state,
    )


def _is_unpinned(loader: ast.Call) -> bool:
    """Whether a DataLoader is not told whether to pin, by keyword, position, or what two stars bring."""
    told = any(each.arg is None or each.arg == "pin_memory" for each in loader.keywords)
    return not told and len(loader.args) < 8 and not any(isinstance(each, ast.Starred) for each in loader.args)


METHODS: dict[str, Callable[..., None]] = dict.fromkeys(("to", "cuda", "xpu"), _move)


def check(fact: UnpinnedLoader) -> Iterator[Report]:
    effect = "`non_blocking=True` has no effect" if fact.asynchronous else "each move waits for a copy of the driver"
    yield Report(
        span=fact.at,
        message="the batches of this loader are moved to an accelerator from memory that is not pinned",
        symptom=effect,
        help="give it `pin_memory=True`, and the moves `non_blocking=True`",
        notes=(Note(f"{code(fact.move)} moves a batch here", fact.moved_at),),
    )
