"""Processes that are forked after CUDA was used, and use it as well."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from torchdevlint.flow.checks.children import run_in_child
from torchdevlint.flow.facts.processes import AcceleratorAfterFork
from torchdevlint.flow.kinds.start_method import EXECUTOR, POOL, POOLS, PROCESS, forks
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State, Touch
from torchdevlint.flow.state.values import UNKNOWN, Library, Map, Obj, Seq, Value

_MAPS = frozenset("map map_async imap imap_unordered apply apply_async starmap starmap_async submit".split())


def _start(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``process.start()``."""
    if state.touched is None:
        return
    if isinstance(receiver, Library) and receiver.name == PROCESS:
        target, positional, keywords = receiver.children
        _check(frame, state, node, node, state.touched, target, _items(positional), _named(keywords))
    elif isinstance(receiver, Obj) and any(_is_process(name) for name in receiver.info.library_bases):
        if "start" in receiver.info.all_methods:
            return
        run = receiver.info.method("run", receiver)
        if run is not None:
            _check(frame, state, node, node, state.touched, run, (), {})


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
    if state.touched is None:
        return
    frame.machine.memory(_Memory).pools.setdefault(node, state.touched)
    initializer = arguments.keywords.get("initializer") or arguments.get(1, "initializer")
    if initializer is not None and name != EXECUTOR:
        _check(frame, state, node, node, state.touched, initializer[1], _items(arguments.value(2, "initargs")), {})


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
