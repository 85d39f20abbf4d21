"""Each training step waits for the accelerator.

## What it does
Finds, in a loop that calls `.backward()` and `.step()`, what every round does and the accelerator has to be waited for:
`.item()`, `.cpu()`, `.tolist()`, `float(..)` or `print(..)` of a loss or another tensor that is there,
`torch.cuda.synchronize()` and `torch.cuda.empty_cache()`. Of several reads in one loop the first is reported: right
after it, there is little left to wait for. It is advice, off unless it is selected.

## Why is this bad?
The CPU runs ahead and queues the work of the next step while the accelerator still computes this one. To read a number
it has to wait until everything before it is done, and the accelerator idles while the next step is queued. The smaller
the model, the more of the time that is. `empty_cache` gives memory back to the driver, and the next step asks for it
again.

## Example
```python
def train(model, loader, optimizer, criterion, device):
    model.to(device)
    total = 0.0
    for x, y in loader:
        loss = criterion(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
```

## Use instead
```python
def train(model, loader, optimizer, criterion, device):
    model.to(device)
    total = torch.zeros((), device=device)
    for x, y in loader:
        loss = criterion(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total.item()
```
What is shown while it trains can be read every hundredth step.

## Fix safety
There is no fix: how often a number is needed is for the author to say.

## What it cannot see
How long a step is: beside one of a second, a wait is nothing. What a function that is called in the loop does. A number
that a test of the loop needs, as where a loss that is not finite ends the training, is left alone, and so are waits for
a clock.

## References
- [Avoid unnecessary CPU-GPU synchronization](https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html)
- [Asynchronous execution](https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from msgspec import Struct

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.scope.names import dotted_path, first_name
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import Origin, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor, Unknown, Value
from torchdevlint.model import Note, Report, Severity, Span
from torchdevlint.rules.wording import code
from torchdevlint.source.nodes import assignment_of, below, inside, nodes_in, once_a_node

SEVERITY = Severity.ADVICE
EXECUTION = None
PROBE = '''
"""A number that is read in each step is read as often as there are steps; one that is added up on the device, once."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

NEEDS = "accelerator"
OBSERVES = {"reads": 3}


def flagged(device):
    def train(x):
        return sum((x * step).sum().item() for step in range(3))

    return reads(train, device)


def repaired(device):
    def train(x):
        return sum((x * step).sum() for step in range(3)).item()

    return reads(train, device)


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.names.append(str(operator))
        return operator(*args, **(kwargs or {}))


def reads(train, device):
    x = torch.ones(3).to(device)
    with Seen() as seen:
        train(x)
    return {"reads": sum("_local_scalar_dense" in name for name in seen.names)}
'''


class WaitInStep(Fact, frozen=True):
    """A place where each training step waits for the accelerator.

    `text` is the call, `kind` is ``read`` (a value goes to the host), ``print``, ``cache`` or ``synchronize``, and
    `loop` the head of the loop of steps.
    """

    text: str
    kind: str
    loop: Span


_READS = ("item", "tolist", "cpu", "numpy")
_MOVES = frozenset({"to", "cuda", "xpu", "mps", "device", "prepare"})
_CLOCKS = frozenset({"time", "perf_counter", "perf_counter_ns", "monotonic", "Event", "timer", "Timer", "elapsed_time"})
_LATER = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.IfExp)
"""What may not run in each step, or runs in steps of its own."""
_Loop = ast.For | ast.AsyncFor | ast.While


class _Steps(Struct, frozen=True, eq=False):
    """A loop of training steps: the calls that each step makes, and the names of the losses."""

    loop: _Loop
    losses: frozenset[str]


def _step_of(frame: Frame, node: ast.Call) -> _Steps | None:
    """The loop of training steps in each of which the call is made; None if there is none."""
    return _steps_in(frame.function or frame.machine.tree).get(node)


@once_a_node
def _steps_in(scope: ast.AST) -> dict[ast.AST, _Steps]:
    return {call: steps for steps, calls in _loops_in(scope) for call in calls}


def _loops_in(scope: ast.AST) -> Iterator[tuple[_Steps, list[ast.Call]]]:
    loops: list[_Loop] = [*nodes_in(scope, ast.For), *nodes_in(scope, ast.AsyncFor), *nodes_in(scope, ast.While)]
    for loop in loops:
        calls = list(_calls(loop.body, _LATER[:3] + _LATER[4:7]))
        backward = [each for each in calls if isinstance(each.func, ast.Attribute) and each.func.attr == "backward"]
        steps = any(isinstance(each.func, ast.Attribute) and each.func.attr == "step" for each in calls)
        if not backward or not steps:
            continue
        tested = {each.id for test in _tests(loop) for each in inside(test) if isinstance(each, ast.Name)}
        always = [
            call
            for statement in loop.body
            if tested.isdisjoint(_bound_by(statement))
            for call in _calls([statement], _LATER)
        ]
        losses = frozenset(name for each in backward if (name := _root(each)))
        yield _Steps(loop, losses), always


def _calls(body: list[ast.stmt], without: tuple[type, ...]) -> Iterator[ast.Call]:
    """The calls in statements, but for those inside of nodes of certain kinds."""
    level: list[object] = list(body)
    while level:
        level = [each for each in level if not isinstance(each, without)]
        yield from (each for each in level if isinstance(each, ast.Call))
        level = below(level)


def _tests(loop: _Loop) -> Iterator[ast.expr]:
    kinds: tuple[type[ast.If] | type[ast.While] | type[ast.IfExp], ...] = (ast.If, ast.While, ast.IfExp)
    for kind in kinds:
        yield from (each.test for each in nodes_in(loop, kind))


def _bound_by(statement: ast.stmt) -> set[str]:
    assigned = assignment_of(statement)
    targets = assigned.targets if assigned is not None else []
    return {each.id for target in targets for each in inside(target) if isinstance(each, ast.Name)}


def _root(call: ast.Call) -> str | None:
    """`loss` in ``loss.backward()`` and ``scaler.scale(loss).backward()``."""
    node: ast.expr = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    while isinstance(node, ast.Call):
        node = node.args[0] if node.args else node.func
        node = node.value if isinstance(node, ast.Attribute) else node
    return first_name(dotted_path(node) or "") or None


def _read(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    if not isinstance(node.func, ast.Attribute):
        return
    steps = _step_of(frame, node)
    if steps is not None and _is_on_accelerator(frame, node.func.value, receiver, steps):
        _record(frame, state, node, "read", steps)


def _is_on_accelerator(frame: Frame, node: ast.expr, value: Value, steps: _Steps) -> bool:
    """A tensor that is known to be there, or the loss of a file that moves what it computes with."""
    if isinstance(value, Tensor) and value.device.origin is not Origin.TOP:
        return not on_cpu(value.device)
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("detach", "mean"):
        node = node.func.value
    path = dotted_path(node) or ""
    named = path.removesuffix(".data") in steps.losses
    return named and isinstance(value, (Tensor, Unknown)) and bool(frame.machine.words & _MOVES)


def _shown(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    steps = _step_of(frame, node)
    if steps is None:
        return
    if any(_is_on_accelerator(frame, each, value, steps) for each, value in arguments.positional):
        _record(frame, state, node, "print" if name == "builtins.print" else "read", steps)


def _waits(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``torch.cuda.synchronize()``, unless a clock is read, and ``torch.cuda.empty_cache()``."""
    steps = _step_of(frame, node)
    if steps is None:
        return
    if name.endswith("synchronize"):
        names = {each.attr for each in nodes_in(steps.loop, ast.Attribute)}
        if _CLOCKS & (names | {each.id for each in nodes_in(steps.loop, ast.Name)}):
            return
    _record(frame, state, node, "cache" if name.endswith("empty_cache") else "synchronize", steps)


def _record(frame: Frame, state: State, node: ast.Call, kind: str, steps: _Steps) -> None:
    """The first of its kind in the loop: what is read right after it has little left to wait for."""
    machine = frame.machine
    machine.record(
        ("waits", steps.loop, kind),
        lambda: WaitInStep(machine.span_of(node), machine.text_of(node), kind, _head(machine.span_of(steps.loop))),
        state,
    )


def _head(span: Span) -> Span:
    return Span(span.row, span.column, span.row, span.column + 3)


METHODS: dict[str, Callable[..., None]] = dict.fromkeys(_READS, _read)
FUNCTIONS: dict[str, Callable[..., None]] = {
    "builtins.float": _shown,
    "builtins.int": _shown,
    "builtins.print": _shown,
    "torch.cuda.synchronize": _waits,
    "torch.cuda.empty_cache": _waits,
    "torch.accelerator.synchronize": _waits,
}


_HELP = {
    "read": "add up on the device, with `.detach()`, and read it after the loop or every so many steps",
    "print": "print every so many steps",
    "cache": "leave it out: the memory is kept for the next step, which needs as much",
    "synchronize": "leave it out, or do it when a time is measured",
}


def check(fact: WaitInStep) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=f"{code(fact.text)} makes each training step wait for the accelerator",
        symptom="the accelerator idles while the next step is queued",
        help=_HELP[fact.kind],
        notes=(Note("the loop of training steps", fact.loop),),
    )
