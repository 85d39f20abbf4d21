"""Whether a library moves the batches of a file, so that they are where the model is without a word."""

from __future__ import annotations

from torchdevlint.flow.scope.annotations import only_annotated
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.others import Imported, owner_of
from torchdevlint.flow.state.values import Cls, Library, Value

_MANAGED = frozenset(
    """
    Accelerator accelerator LightningModule LightningLite pytorch_lightning lightning Fabric Trainer TrainingArguments
    DALI dali DALIClassificationIterator prefetcher Prefetcher DataPrefetcher create_loader fabric MpDeviceLoader
    """.split()
)
"""Words of files whose loaders or trainers move batches themselves."""


LOADER_CLASSES = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")


def moves_those_of(frame: Frame, loader: Value) -> bool:
    """Whether a library may move the batches of a loader: not of one that is a `DataLoader` as it was made.

    What a library prepares is another object.
    """
    as_made = isinstance(loader, Library) and loader.name in LOADER_CLASSES and loader.made_at is not None
    return frame.machine.default_changed or (not as_made and moves_batches(frame))


def moves_batches(frame: Frame) -> bool:
    """Whether a library moves the batches of this file, or the default device may be another."""
    managed = frame.machine.words & _MANAGED
    if managed:
        managed -= {info.name for info in frame.machine.classes.values() if not info.library_bases}
        managed -= {word for word in managed if _is_plain_class_elsewhere(frame.machine, word)}
        managed -= only_annotated(frame.machine.tree, managed)
    return bool(managed) or frame.machine.default_changed


def _is_plain_class_elsewhere(machine: Machine, name: str) -> bool:
    """Whether a name is imported from a file of the project that defines a class of no library's by it.

    That file must not speak of one that moves batches either.
    """
    imported = machine.globals.get(name)
    found = machine.others.value(imported) if machine.others is not None and isinstance(imported, Imported) else None
    file = owner_of(found.info.closure) if isinstance(found, Cls) and not found.info.library_bases else None
    return file is not None and (_MANAGED - {name}).isdisjoint(file.module.words)
