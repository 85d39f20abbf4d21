"""The same tensor is moved in every round of a loop.

## What it does
Finds `table.to(device)` in a loop that changes neither `table` nor `device`, where the tensor is known to be on the
CPU. It is advice, off unless it is selected.

## Why is this bad?
Each round copies the same numbers over the bus, and waits for the copy. One copy before the loop is enough.

## Example
```python
def run(model, batches, device):
    mask = torch.ones(8, 8)
    for x in batches:
        model(x, mask.to(device))
```

## Use instead
```python
def run(model, batches, device):
    mask = torch.ones(8, 8, device=device)
    for x in batches:
        model(x, mask)
```

## Fix safety
There is no fix: on the device the tensor takes memory for as long as the loop runs.

## What it cannot see
Tensors whose place is not known, such as arguments, which may be there already. Loops that are in another function than
the move. A tensor that is written to in the loop is left alone.

## References
- [torch.Tensor.to](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.run.moves import method_device, to_device
from torchdevlint.flow.scope.names import dotted_path, first_name
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import VALUELESS_TYPES, Origin, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor, Value
from torchdevlint.model import Note, Report, Severity, Span
from torchdevlint.rules.wording import code
from torchdevlint.source.nodes import arguments_of, inside, nodes_in

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = '''
"""A tensor that each round moves is copied in each round; one that is moved before the loop, once."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

NEEDS = "device"
OBSERVES = {"copies": 3}


def flagged(device):
    mask = torch.ones(3)
    return copies(lambda: [mask.to(device) for _ in range(3)])


def repaired(device):
    mask = torch.ones(3)

    def moved_once():
        there = mask.to(device)
        return [there for _ in range(3)]

    return copies(moved_once)


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.names.append(str(operator))
        return operator(*args, **(kwargs or {}))


def copies(use):
    with Seen() as seen:
        use()
    return {"copies": sum("_to_copy" in name for name in seen.names)}
'''


class RepeatedMove(Fact, frozen=True):
    """A tensor of the CPU that each round of a loop moves, though the loop changes neither it nor the device."""

    name: str
    text: str
    loop: Span


_Loop = ast.For | ast.AsyncFor | ast.While


def _move(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    machine, callee = frame.machine, node.func
    if not isinstance(receiver, Tensor) or not isinstance(callee, ast.Attribute):
        return
    path = dotted_path(callee.value)
    if path is None or not on_cpu(receiver.device):
        return
    device = to_device(frame, arguments) if callee.attr == "to" else method_device(frame, callee.attr, arguments)
    if device is None or device.origin is Origin.TOP or on_cpu(device) or device.name in VALUELESS_TYPES:
        return
    loop = _innermost(frame, node)
    if loop is None or _ends_at_once(loop) or not _is_invariant(loop, node, path):
        return
    machine.record(
        ("repeated", node),
        lambda: RepeatedMove(machine.span_of(node), path, machine.text_of(node), _head(machine.span_of(loop))),
        state,
    )


def _innermost(frame: Frame, node: ast.Call) -> _Loop | None:
    """The nearest loop of the function whose body the call stands in."""
    scope = frame.function or frame.machine.tree
    loops: list[_Loop] = [*nodes_in(scope, ast.For), *nodes_in(scope, ast.AsyncFor), *nodes_in(scope, ast.While)]
    around = [each for each in loops if each.body[0].lineno <= node.lineno <= (each.body[-1].end_lineno or 0)]
    inner = max(around, key=lambda each: each.lineno, default=None)
    within = inner is not None and any(node in nodes_in(statement, ast.Call) for statement in inner.body)
    return inner if within else None


def _ends_at_once(loop: _Loop) -> bool:
    return isinstance(loop.body[-1], (ast.Break, ast.Return, ast.Raise))


def _is_invariant(loop: _Loop, node: ast.Call, path: str) -> bool:
    """Whether the loop binds, writes into and changes neither the tensor nor the device."""
    names = {first_name(path)}
    for each in arguments_of(node):
        names.update(name.id for name in inside(each) if isinstance(name, ast.Name))
        if isinstance(each, ast.Call):
            return False
    for name in inside(loop):
        if isinstance(name, ast.Name) and isinstance(name.ctx, (ast.Store, ast.Del)) and name.id in names:
            return False
        written = isinstance(name, (ast.Attribute, ast.Subscript)) and isinstance(name.ctx, (ast.Store, ast.Del))
        if written and first_name(dotted_path(_base(name)) or "") in names:
            return False
    for call in nodes_in(loop, ast.Call):
        changes = isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_")
        if changes and first_name(dotted_path(_base(call.func)) or "") in names:
            return False
    return True


def _base(node: ast.AST) -> ast.AST:
    """The name that is indexed or asked: `t` of ``t[i].x``."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node


def _head(span: Span) -> Span:
    return Span(span.row, span.column, span.row, span.column + 3)


METHODS: dict[str, Callable[..., None]] = dict.fromkeys(("to", "cuda", "xpu", "mps", "npu", "hpu"), _move)


def check(fact: RepeatedMove) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} copies the same tensor in every round of the loop",
        symptom="a copy over the bus in each round, and a wait for it",
        help=f"move {code(fact.name)} before the loop",
        notes=(Note("the loop, which does not change it", fact.loop),),
    )
