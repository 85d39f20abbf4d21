"""`tensor[index]` as a function in Python, while C still takes a tensor for no sequence.

A class of Python with a `__getitem__` gets two slots from CPython: of a mapping, and of a sequence. C asks for the
second (`PySequence_Check`), and `torch.tensor([a, b])` would take the tensors a and b apart. So that slot is emptied
again, in the type and in the types below it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from torchdevlint.runtime.simulated.patches import Patch

_WORD = ctypes.sizeof(ctypes.c_void_p)
_SEQUENCE = object.__basicsize__ + 11 * _WORD
"""Where a type has its `tp_as_sequence` (CPython, Include/cpython/object.h: `PyTypeObject`)."""
_ITEM = 3
"""The place of `sq_item` in what that points to."""
NAME = "__getitem__"
_BELOW = "__init_subclass__"


class _Sequence:
    def __getitem__(self, index: Any) -> None: ...


class _Inheriting(_Sequence): ...


class _Plain: ...


class _Subscript:
    """`torch.Tensor.__getitem__` as an attribute: setting it replaces it, deleting it gives it back."""

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        setattr(torch.Tensor, NAME, value)
        setattr(torch.Tensor, _BELOW, classmethod(_init_subclass))
        _no_sequences(torch.Tensor)

    def __delattr__(self, name: str) -> None:
        del self.__dict__[name]
        delattr(torch.Tensor, NAME)
        delattr(torch.Tensor, _BELOW)


def _init_subclass(cls: type, /, **options: Any) -> None:
    super(torch.Tensor, cls).__init_subclass__(**options)
    if _is_inherited(cls):
        _empty(cls)


def _no_sequences(kind: type) -> None:
    _empty(kind)
    below: type
    for below in kind.__subclasses__():
        if NAME not in vars(below):
            _no_sequences(below)


def _is_inherited(kind: type) -> bool:
    """Whether a class below `torch.Tensor` has the `__getitem__` of that."""
    return next(one for one in kind.__mro__ if NAME in vars(one)) is torch.Tensor


def _slots(kind: type) -> Any:
    return ctypes.cast(id(kind) + _SEQUENCE, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))[0]


def _empty(kind: type) -> None:
    _slots(kind)[_ITEM] = None


def _layout_is_known() -> bool:
    """Whether the slot is where it is looked for: seen from classes of which it is known."""
    if sys.implementation.name != "cpython" or NAME in vars(torch.Tensor):
        return False
    if not all(_slots(kind) for kind in (_Sequence, _Inheriting, _Plain, torch.Tensor)):
        return False
    written, inherited, plain, tensor = (_slots(kind)[_ITEM] for kind in (_Sequence, _Inheriting, _Plain, torch.Tensor))
    return written is not None and written == inherited and plain is None and tensor is None


def patches(getitem: Callable[..., Any]) -> Iterator[Patch]:
    """What replaces the subscript; nothing where types are not laid out as they are known to be."""
    if _layout_is_known():
        yield _Subscript(), "subscript", getitem
