"""Where each step of a training loop waits for the accelerator (TDL602)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from msgspec import Struct

from torchdevlint.flow.facts.transfers import WaitInStep
from torchdevlint.flow.scope.names import dotted_path, first_name
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import Origin, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor, Unknown, Value
from torchdevlint.model import Span
from torchdevlint.source.nodes import below, inside, nodes_in, once_a_node

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
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {each.id for target in targets for each in inside(target) if isinstance(each, ast.Name)}


def _root(call: ast.Call) -> str | None:
    """`loss` in ``loss.backward()`` and ``scaler.scale(loss).backward()``."""
    node: ast.expr = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    while isinstance(node, ast.Call):
        node = node.args[0] if node.args else node.func
        node = node.value if isinstance(node, ast.Attribute) else node
    return first_name(dotted_path(node) or "") or None


def _read(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    if WaitInStep not in frame.machine.wanted or not isinstance(node.func, ast.Attribute):
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
    if WaitInStep not in frame.machine.wanted:
        return
    steps = _step_of(frame, node)
    if steps is None:
        return
    if any(_is_on_accelerator(frame, each, value, steps) for each, value in arguments.positional):
        _record(frame, state, node, "print" if name == "builtins.print" else "read", steps)


def _waits(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``torch.cuda.synchronize()``, unless a clock is read, and ``torch.cuda.empty_cache()``."""
    if WaitInStep not in frame.machine.wanted:
        return
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
