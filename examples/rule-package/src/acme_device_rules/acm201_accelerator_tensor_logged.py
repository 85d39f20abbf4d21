"""The tracker is given a tensor that is on an accelerator.

## What it does
Finds `acme_tracking.log_metric(name, value)` whose value surely is a tensor on an accelerator.

## Why is this bad?
The tracker keeps what it is given until its own process fetches it. A tensor keeps its memory on the accelerator, and
the graph of the step that it is from, for as long: memory grows from step to step. In the process of the tracker it
opens a context of CUDA, half a gigabyte, on every accelerator that a tensor comes from. On the CPU neither is noticed.

## Example
```python
import acme_tracking


def step(model: nn.Module, x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    acme_tracking.log_metric("loss", loss)
```

## Use instead
```python
import acme_tracking


def step(model: nn.Module, x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    acme_tracking.log_metric("loss", loss.item())
```

## Fix safety
Unsafe: `.item()` makes the host wait for the accelerator, and takes a tensor of one element only.

## What it cannot see
Tensors inside of dictionaries, and values of which it is not known where they are.

## References
- [Reference counting of tensors between processes](https://docs.pytorch.org/docs/stable/notes/multiprocessing.html)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.rule_api import (
    Applicability,
    Arguments,
    Fact,
    Frame,
    Origin,
    Report,
    Severity,
    State,
    Tensor,
    Value,
    call_added,
    code,
    edit,
    fix,
    on_cpu,
    operand,
)

SEVERITY = Severity.ERROR
EXECUTION = None
PROBE = None


class TensorLogged(Fact, frozen=True):
    """The tensor `text`, which is on `device`, a device in words, goes to the tracker at `at`."""

    text: str
    device: str


def _note_logged(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``acme_tracking.log_metric(name, value)`` was called."""
    found = arguments.get(1, "value")
    if found is None:
        return
    argument, value = found
    if not isinstance(value, Tensor) or value.device.origin is Origin.TOP or on_cpu(value.device):
        return
    machine, device = frame.machine, value.device.describe()
    machine.record(
        ("tensor logged", argument),
        lambda: TensorLogged(machine.span_of(argument), machine.text_of(argument), device),
        state,
    )


FUNCTIONS = {"acme_tracking.log_metric": _note_logged}


def check(fact: TensorLogged) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=f"the tracker keeps {code(fact.text)}, which is on {fact.device}",
        symptom="memory of the accelerator grows with every step, and the tracker's process opens a context of its own",
        help=f"give it the number: {edit(f'{operand(fact.text)}.item()')}",
        fix=fix(Applicability.UNSAFE, "give the number", *call_added(fact.text, fact.at, ".item()")),
    )
