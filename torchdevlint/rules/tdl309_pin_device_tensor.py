"""Memory of a tensor that is on an accelerator is to be pinned.

## What it does
Finds `pin_memory` where the tensor is on an accelerator already: `t.cuda().pin_memory()`, a factory with both
`device="cuda"` and `pin_memory=True`, and a `DataLoader` with `pin_memory=True` whose data set or `collate_fn` gives
tensors that were moved.

## Why is this bad?
Pinned memory is memory of the host that is kept from being swapped out, so that copies to the GPU are fast. What is on
the GPU cannot be pinned:

    RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned

and from a factory

    RuntimeError: Only dense CPU tensors can be pinned

On a machine without a GPU `pin_memory=True` does nothing in a loader, so that the same program works there.

## Example
```python
from torch.utils.data import DataLoader, TensorDataset

def loader(x, y, device):
    data = TensorDataset(x.to(device), y.to(device))
    return DataLoader(data, batch_size=64, shuffle=True, pin_memory=True)
```

## Use instead
```python
from torch.utils.data import DataLoader, TensorDataset

def train(model, x, y, device):
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True, pin_memory=True)
    for inputs, labels in loader:
        step(model, inputs.to(device, non_blocking=True), labels.to(device, non_blocking=True))
```
That pins what is on the CPU and moves it afterwards. Where all data is on the GPU, leave `pin_memory` out.

## Fix safety
There is no automatic fix: which of the two is meant, the move or the pinning, is the author's to say.

## What it cannot see
A data set of another file; data that is moved on some paths only; `pin_memory` that is an argument without a default.
Where a caller names the device, in `t.to(device).pin_memory()`, it may be the CPU, to which tensors are offloaded.
Sparse tensors on the CPU cannot be pinned either.

## References
- [torch.utils.data: memory pinning](https://docs.pytorch.org/docs/stable/data.html#memory-pinning)
- [torch.Tensor.pin_memory](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.pin_memory.html)
- unit8co/darts#436, hako-mikan/sd-webui-traintrain#20, DavidWBressler/GCNN#2, scverse/scvi-tools#1713,
  linzhiqiu/cross_modal_adaptation#17
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.processes.children import is_placed, placed_in, run_in_child
from torchdevlint.flow.checks.processes.workers import LOADERS, is_iterator, reads
from torchdevlint.flow.facts.processes import PinnedOnDevice
from torchdevlint.flow.kinds.options import surely_true
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, NUMBER, UNKNOWN, Const, Seq, Tensor, Value
from torchdevlint.model import Note, Report, Severity
from torchdevlint.rules.wording import code

SEVERITY = Severity.ERROR
EXECUTION = "exception"
PROBE = '''
"""A loader cannot pin batches that are on a CUDA device; it pins those that are on the CPU."""
import torch
from torch.utils.data import DataLoader, TensorDataset

NEEDS = "cuda"
RAISES = {"RuntimeError": ["only dense CPU tensors can be pinned"]}


def flagged(device):
    data = TensorDataset(torch.arange(4.0).to(device))
    return {"batches": len(list(DataLoader(data, batch_size=2, pin_memory=True)))}


def repaired(device):
    data = TensorDataset(torch.arange(4.0))
    return {"batches": len([batch.to(device) for (batch,) in DataLoader(data, batch_size=2, pin_memory=True)])}
'''


def _method(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``t.pin_memory()``."""
    if is_placed(receiver) and receiver.device.origin is Origin.LITERAL:
        _record(frame, state, node, "method", receiver)


def _new(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``t.new_zeros(2, pin_memory=True)``."""
    if _is_asked(arguments) and "device" not in arguments.keywords:
        _method(frame, state, node, receiver, arguments)


def _factory(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``torch.zeros(2, device=device, pin_memory=True)``."""
    if _is_asked(arguments) and is_placed(given) and given.device.origin is Origin.LITERAL:
        _record(frame, state, node, "factory", given)


def _is_asked(arguments: Arguments) -> bool:
    given = arguments.keywords.get("pin_memory")
    return given is not None and given[1] == Const(True)


def _loader(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``DataLoader(data, pin_memory=True)``, where batches are made of what is on an accelerator already."""
    pinned = arguments.get(7, "pin_memory")
    if frame.machine.muted or pinned is None or not surely_true(frame, *pinned):
        return
    stored = _batch(frame, node, arguments)
    if stored is not None:
        at = next((each for each in node.keywords if each.arg == "pin_memory"), node)
        _record(frame, state, node, "loader", stored, at)


def _batch(frame: Frame, node: ast.Call, arguments: Arguments) -> Tensor | None:
    """A tensor in the batches of a loader that is surely on an accelerator."""
    data = arguments.value(0, "dataset")
    sample: Value = UNKNOWN
    for function in reads(data):
        sample = run_in_child(frame, node, function, [] if is_iterator(function) else [NUMBER], {})[1]
    collate = arguments.get(6, "collate_fn")
    if collate is None or collate[1] == NONE:
        return placed_in(sample) or placed_in(data)
    return placed_in(run_in_child(frame, node, collate[1], [Seq(None, sample)], {})[1])


def _record(frame: Frame, state: State, node: ast.Call, kind: str, stored: Tensor, at: ast.AST | None = None) -> None:
    machine, put = frame.machine, stored.steps[-1].node
    machine.record(
        ("pinned", at or node),
        lambda: PinnedOnDevice(
            machine.span_of(at or node),
            kind,
            machine.text_of(put),
            machine.span_of(put),
            machine.span_of(node) if kind == "loader" else None,
        ),
        state,
    )


_PINNING = sorted((torch_api.FACTORIES | torch_api.LIKE_FACTORIES) - torch_api.DATA_FACTORIES)
"""Make the tensor where ``pin_memory=True`` is to pin it; `torch.tensor` pins a copy on the host, and moves that."""
FUNCTIONS = {**dict.fromkeys(LOADERS, _loader), **{f"torch.{name}": _factory for name in _PINNING}}
METHODS = {"pin_memory": _method, **dict.fromkeys(sorted(torch_api.NEW_METHODS), _new)}


def check(fact: PinnedOnDevice) -> Iterator[Report]:
    if fact.kind == "loader":
        message = f"`pin_memory=True` for batches that are on an accelerator already, by {code(fact.text)}"
        help_ = "leave out `pin_memory`, or keep the data on the CPU and move each batch"
    elif fact.kind == "factory":
        message = "`pin_memory=True` for a tensor that is made on an accelerator"
        help_ = "make it on the CPU, or leave out `pin_memory`"
    else:
        message = f"memory is pinned of a tensor that is on an accelerator, by {code(fact.text)}"
        help_ = "pin it before it is moved, or not at all"
    pinned = "Only" if fact.kind == "factory" else "cannot pin 'torch.cuda.FloatTensor' only"
    yield Report(
        span=fact.at,
        message=f"{message}: only memory of the CPU can be pinned",
        symptom=f"RuntimeError: {pinned} dense CPU tensors can be pinned",
        help=help_,
        notes=() if fact.kind == "factory" else (Note("it is put there here", fact.put_at),),
    )
