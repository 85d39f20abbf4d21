"""Batches from a loader: on the CPU until something moves them (TDL005)."""

from __future__ import annotations

import ast

from torchdevlint.flow.devices import LOADER
from torchdevlint.flow.facts import BatchNotMoved, Operand
from torchdevlint.flow.machine import Frame, State
from torchdevlint.flow.names import dotted_path
from torchdevlint.flow.values import NUMBER, UNKNOWN, Library, Seq, Step, Tensor, Unknown, Value

_LOADER_CLASSES = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
_LOADER_NAMES = ("loader", "loaders", "dataloader", "dl")
_MANAGED = frozenset(
    """
    Accelerator accelerator LightningModule pytorch_lightning lightning Fabric Trainer TrainingArguments DALI dali
    DALIClassificationIterator prefetcher Prefetcher DataPrefetcher create_loader fabric MpDeviceLoader
    """.split()
)
"""Words of files whose loaders or trainers move batches themselves."""


def batch_of(frame: Frame, loop: ast.For | ast.AsyncFor, source: Value) -> Value | None:
    """What a loop over a loader gives: something on the CPU; None for other loops."""
    if frame.machine.words & _MANAGED:
        return None
    node, numbered = loop.iter, False
    while isinstance(node, ast.Call) and node.args and isinstance(node.func, (ast.Name, ast.Attribute)):
        callee = (dotted_path(node.func) or "").rpartition(".")[2]
        if callee not in ("enumerate", "tqdm", "track", "islice", "iter"):
            return None
        numbered = numbered or callee == "enumerate"
        node = node.args[0]
    if not _is_loader(frame, node, source):
        return None
    batch = Tensor(LOADER, None, (), (Step("comes from the loader here", loop.target),), opaque=True)
    return Seq((NUMBER, batch), UNKNOWN) if numbered else batch


def _is_loader(frame: Frame, node: ast.expr, source: Value) -> bool:
    if isinstance(source, Library):
        return source.name in _LOADER_CLASSES
    name = (dotted_path(node) or "").rpartition(".")[2].lower()
    return isinstance(source, Unknown) and name.endswith(_LOADER_NAMES)


def is_from_loader(value: Value) -> bool:
    return isinstance(value, Tensor) and value.device == LOADER


def forget_if_in_place(frame: Frame, receiver: ast.expr, state: State) -> None:
    """``batch.to(d)`` as a statement: a container of tensors may have moved in place."""
    path = dotted_path(receiver)
    value = frame.evaluate(receiver, state) if path is not None else UNKNOWN
    if path is not None and is_from_loader(value):
        (state.env if path in state.env else state.paths)[path] = UNKNOWN


def record(
    frame: Frame, state: State, node: ast.AST, operation: str, stayed: tuple[ast.expr, Tensor], other: Operand
) -> None:
    machine = frame.machine
    loaded = stayed[1].steps[0].node if stayed[1].steps else node
    machine.record(
        ("batch", loaded, machine.text_of(stayed[0])),
        lambda: BatchNotMoved(
            machine.span_of(node), operation, machine.text_of(stayed[0]), machine.span_of(loaded), other
        ),
        state,
    )
