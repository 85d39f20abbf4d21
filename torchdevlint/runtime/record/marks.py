"""Marks on the bytes of tensors, by which a value is known again: which flagged places it has come from.

A mark is a bit. It lies on the storage, so that views and `.data` share it, and what is computed of marked tensors, and
copied from them, has the marks of all of them while `Following` is entered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

ATTRIBUTE = "_torchdevlint_marks"
_WITHOUT_STORAGE = (NotImplementedError, RuntimeError, ValueError, AttributeError)
"""What a sparse tensor, or a wrapper of functorch, raises when it is asked for its bytes."""


def marks_of(tensor: torch.Tensor) -> int:
    """The marks of a tensor, 0 for none."""
    try:
        return getattr(tensor.untyped_storage(), ATTRIBUTE, 0)
    except _WITHOUT_STORAGE:
        return 0


def mark(tensor: torch.Tensor, marks: int) -> None:
    """Add marks to a tensor; one without bytes of its own has none."""
    try:
        storage = tensor.untyped_storage()
        setattr(storage, ATTRIBUTE, getattr(storage, ATTRIBUTE, 0) | marks)
    except _WITHOUT_STORAGE:
        return


class Following(TorchDispatchMode):  # type: ignore[misc]
    """While entered, hands marks on. `seen` is called with the tensors that went into an operation of a marked one.

    What `origin` says of the tensors that go into an operation, if there is one, its results are marked with as well.
    """

    def __init__(self, seen: Callable[[Sequence[torch.Tensor]], None]) -> None:
        super().__init__()
        self._seen = seen
        self.origin: Callable[[Sequence[torch.Tensor]], int] | None = None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Not wrapped in `torch._disable_dynamo`, which costs a microsecond for each operation."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        made = func(*args, **kwargs)
        given = list(_tensors((*args, *kwargs.values())))
        marks = 0 if self.origin is None else self.origin(given)
        for tensor in given:
            marks |= marks_of(tensor)
        if marks:
            for tensor in _tensors(made if isinstance(made, (list, tuple)) else (made,)):
                mark(tensor, marks)
            self._seen(given)
        return made


def _tensors(values: Iterable[Any]) -> Iterable[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
