"""Batches from a loader: on the CPU until something moves them (TDL005)."""

from __future__ import annotations

import ast

from torchdevlint.flow.devices import LOADER, on_cpu
from torchdevlint.flow.facts import BatchNotMoved, Operand
from torchdevlint.flow.joins import only, sequence
from torchdevlint.flow.machine import Frame, State
from torchdevlint.flow.names import dotted_path, mentions_device
from torchdevlint.flow.values import (
    AT_LEAST_1,
    NUMBER,
    UNKNOWN,
    Func,
    Library,
    Map,
    Obj,
    Record,
    Step,
    Tensor,
    Unknown,
    Value,
)

_LOADER_CLASSES = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
_LOADER_NAMES = ("loader", "loaders", "dataloader", "dl")
_MANAGED = frozenset(
    """
    Accelerator accelerator LightningModule pytorch_lightning lightning Fabric Trainer TrainingArguments DALI dali
    DALIClassificationIterator prefetcher Prefetcher DataPrefetcher create_loader fabric MpDeviceLoader
    """.split()
)
"""Words of files whose loaders or trainers move batches themselves."""


def batch_of(frame: Frame, loop: ast.For | ast.AsyncFor, state: State) -> Value | None:
    """What a loop over a loader gives: something on the CPU; None for other loops."""
    managed = frame.machine.words & _MANAGED
    if managed:
        managed -= {info.name for info in frame.machine.classes.values() if not info.library_bases}
    if managed or frame.machine.default_changed:
        return None
    return _given_by(frame, loop.iter, loop.target, state)


def _given_by(frame: Frame, node: ast.expr, target: ast.expr, state: State) -> Value | None:
    if isinstance(node, ast.Call) and node.args and isinstance(node.func, (ast.Name, ast.Attribute)):
        callee = (dotted_path(node.func) or "").rpartition(".")[2]
        if callee == "zip":
            found = [_given_by(frame, each, target, state) for each in node.args]
            return sequence([each or UNKNOWN for each in found]) if any(found) else None
        if callee == "chain":
            found = [_given_by(frame, each, target, state) for each in node.args]
            return next((each for each in found if each is not None), None) if all(found) else None
        if callee in ("enumerate", "tqdm", "track", "islice", "iter", "cycle"):
            inner = _given_by(frame, node.args[0], target, state)
            return sequence([NUMBER, inner]) if inner is not None and callee == "enumerate" else inner
    if not _is_loader(node, frame.evaluate(node, state)):
        return None
    return Tensor(LOADER, AT_LEAST_1, (), (Step("comes from the loader here", target),), opaque=True)


def _is_loader(node: ast.expr, source: Value) -> bool:
    """A DataLoader whose data set is not on a device already, or something unknown that is called a loader."""
    source = only(source, Library) or source
    if isinstance(source, Library):
        return source.name in _LOADER_CLASSES and not any(_places(each) for each in source.children)
    name = (dotted_path(node) or "").rpartition(".")[2].lower()
    return isinstance(source, Unknown) and name.endswith(_LOADER_NAMES)


def _places(value: Value) -> bool:
    """Whether a data set holds tensors of an accelerator, or a data set or collate function of this file moves them."""
    if isinstance(value, Library):
        return any(_places(each) for each in value.children)
    if isinstance(value, Tensor):
        return not on_cpu(value.device)
    node = value.info.node if isinstance(value, Obj) else value.node if isinstance(value, Func) else None
    return node is not None and any(
        isinstance(each, ast.Attribute) and each.attr in ("to", "cuda", "device") for each in ast.walk(node)
    )


def is_from_loader(value: Value) -> bool:
    return isinstance(value, Tensor) and value.device == LOADER


def forget_if_in_place(frame: Frame, receiver: ast.expr, state: State) -> None:
    """``batch.to(d)`` as a statement: a container of tensors may have moved in place."""
    path = dotted_path(receiver)
    value = frame.evaluate(receiver, state) if path is not None else UNKNOWN
    if path is not None and is_from_loader(value):
        (state.env if path in state.env else state.paths)[path] = UNKNOWN


def forget_if_sent(frame: Frame, call: ast.Call, state: State) -> None:
    """``send_to(batch, device)`` as a statement, of a function of another file: it may move the batch in place."""
    if not any(_says_device(each) for each in (call.func, *call.args, *(keyword.value for keyword in call.keywords))):
        return
    if isinstance(frame.evaluate(call.func, state), (Func, Obj, Library)):
        return
    for each in call.args:
        path = dotted_path(each)
        value = frame.evaluate(each, state) if path is not None else UNKNOWN
        if path is not None and (isinstance(value, (Map, Record)) or (is_from_loader(value) and path in state.env)):
            (state.env if path in state.env else state.paths)[path] = UNKNOWN


def _says_device(node: ast.expr) -> bool:
    return mentions_device((dotted_path(node) or "").rpartition(".")[2])


def record(
    frame: Frame, state: State, node: ast.AST, operation: str, stayed: tuple[ast.expr, Tensor], other: Operand
) -> None:
    """Report the batch where the loop that took it from the loader, or what it calls first, gives it away."""
    machine = frame.machine
    loaded = stayed[1].steps[0].node if stayed[1].steps else node
    while frame.called_at is not None and frame.context == "forward":
        node, frame = frame.called_at
    machine.record(
        ("batch", loaded),
        lambda: BatchNotMoved(
            machine.span_of(node), operation, machine.text_of(stayed[0]), machine.span_of(loaded), other
        ),
        state,
    )
