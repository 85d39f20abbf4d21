"""Loaders with workers: forked processes, which cannot use the accelerator that their parent uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.processes.children import placed_in, run_in_child
from torchdevlint.flow.facts.processes import AcceleratorInWorker
from torchdevlint.flow.kinds.options import surely_some
from torchdevlint.flow.kinds.start_method import forks
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NUMBER, UNKNOWN, Choice, Func, Library, Obj, Partial, Seq, Value

_READS = ("__getitems__", "__getitem__", "__iter__")
"""What workers call of a data set, in the order in which torch looks for them."""


def _loader(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``DataLoader(data, num_workers=4)``: what its workers call runs in processes of its own."""
    machine = frame.machine
    if machine.muted or state.without_accelerator or "get_worker_info" in machine.words:
        return
    workers = arguments.get(5, "num_workers")
    if workers is None or arguments.double_starred or not surely_some(frame, state, *workers):
        return
    if not forks(frame, arguments.get(11, "multiprocessing_context")):
        return
    data = arguments.value(0, "dataset")
    sample: Value = UNKNOWN
    for function in reads(data):
        sample = _check(frame, state, node, function, [] if is_iterator(function) else [NUMBER])
    stored = placed_in(data)
    if stored is not None:
        _record(frame, state, node, stored.steps[-1].node, "", True)
    if "collate_fn" in arguments.keywords or len(arguments.positional) > 6:
        _check(frame, state, node, arguments.value(6, "collate_fn"), [Seq(None, sample)])
    _check(frame, state, node, arguments.value(10, "worker_init_fn"), [NUMBER])


LOADERS = """
    torch.utils.data.DataLoader torch.utils.data.dataloader.DataLoader torch_geometric.loader.DataLoader
    torch_geometric.data.DataLoader monai.data.DataLoader
""".split()
FUNCTIONS = dict.fromkeys(LOADERS, _loader)


def reads(data: Value) -> Iterator[Func]:
    """The methods by which workers read a data set of this file, or several of them that are one."""
    if isinstance(data, Library) and not data.module:
        for child in data.children:
            yield from reads(child)
    elif isinstance(data, Seq) and data.items is not None:
        for item in data.items:
            yield from reads(item)
    elif isinstance(data, Obj):
        found = (data.info.method(name, data) for name in _READS)
        yield from [method for method in found if method is not None][:1]


def is_iterator(function: Func) -> bool:
    return function.qualname.endswith(".__iter__")


def _check(frame: Frame, state: State, node: ast.Call, function: Value, arguments: list[Value]) -> Value:
    """Record what `function` does first with an accelerator, or what it reads there; give what it gives."""
    touch, given = run_in_child(frame, node, function, arguments, {})
    name = _name(function)
    if touch is None:
        stored = placed_in(given)
        if stored is not None and name:
            _record(frame, state, node, stored.steps[-1].node, name, True)
        return given
    _record(frame, state, node, touch.node, name, False)
    return UNKNOWN


def _record(frame: Frame, state: State, node: ast.Call, used: ast.AST, name: str, stored: bool) -> None:
    """The finding is in this file: at what uses the accelerator, or at the loader, if that is in another one."""
    machine = frame.machine

    def fact() -> AcceleratorInWorker:
        used_at, loader_at = machine.span_of(used), machine.span_of(node)
        at = loader_at if used_at.file else used_at
        return AcceleratorInWorker(at, machine.text_of(used), name, stored, used_at, loader_at)

    machine.record(("worker", used), fact, state)


def _name(function: Value) -> str:
    while isinstance(function, Partial):
        function = function.function
    if isinstance(function, Obj):
        return f"{function.info.name}.__call__"
    if isinstance(function, Choice):
        return ""
    return function.qualname if isinstance(function, Func) else ""
