"""`torch.device(1)` on a CPU build: a number means the simulated accelerator.

The type is C++ and knows no accelerator; its attributes cannot be set, and no other class can stand in its place, since
programs ask `type(device) is torch.device`. So its constructor is replaced where CPython itself keeps it: `__new__` in
the type's own dictionary, and in its slot the function by which CPython calls a `__new__` that is written in Python.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch

from torchdevlint.runtime.simulated import state
from torchdevlint.runtime.simulated.patches import Patch

_WORD = ctypes.sizeof(ctypes.c_void_p)
_NAME = object.__basicsize__ + _WORD
_NEW = _NAME + 36 * _WORD
"""Where a type has its `tp_name` and `tp_new` (CPython, Include/cpython/object.h: `PyTypeObject`)."""

_device = torch.device


class _Python:
    """A class of which CPython calls `__new__` in Python."""

    def __new__(cls) -> Any:
        return object.__new__(cls)


class _AlsoPython(_Python):
    __new__ = _Python.__new__


class _Inheriting:
    """A class that has the `__new__` of `object`."""


def _slot(kind: type) -> Any:
    return ctypes.cast(id(kind) + _NEW, ctypes.POINTER(ctypes.c_void_p))


def _new(cls: type, *args: Any, **kwargs: Any) -> Any:
    index = args[0] if len(args) == 1 and not kwargs else kwargs.get("device") if len(kwargs) == 1 else None
    active = state.active
    # torch/csrc/utils/python_arg_parser.h, `toDevice`: a number that is not negative is an accelerator's index
    if type(index) is int and index >= 0 and active is not None and active.driver.installed:
        return _constructor().by_cpp(cls, (active.kind, index), {})
    return _constructor().by_cpp(cls, args, kwargs)


class _Constructor:
    """The constructor of `torch.device` as an attribute: setting it replaces it, deleting it gives it back."""

    def __init__(self) -> None:
        function = _slot(_device)[0]
        objects = [ctypes.py_object] * 4
        self.__dict__["_real"] = (vars(_device)["__new__"], function)
        self.__dict__["by_cpp"] = ctypes.PYFUNCTYPE(*objects)(function)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
        _construct_with(staticmethod(value), _slot(_Python)[0])

    def __delattr__(self, name: str) -> None:
        del self.__dict__[name]
        _construct_with(*self.__dict__["_real"])


def _construct_with(method: Any, function: int) -> None:
    gc.get_referents(vars(_device))[0]["__new__"] = method
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(_device))
    _slot(_device)[0] = function


@cache
def _constructor() -> Any:
    """Made at the first simulation, when the constructor is still the real one and the layout has been checked."""
    return _Constructor()


def patches() -> Iterator[Patch]:
    """What replaces the constructor of `torch.device`; nothing where types are not laid out as they are known to be."""
    if _layout_is_known():
        yield _constructor(), "new", _new


def _layout_is_known() -> bool:
    """Whether name and constructor are where they are looked for: seen from types of which both are known."""
    if sys.implementation.name != "cpython":
        return False
    name = ctypes.cast(id(_device) + _NAME, ctypes.POINTER(ctypes.c_char_p))[0]
    constructors = [_slot(kind)[0] for kind in (_Python, _AlsoPython, _Inheriting, object, _device)]
    written, also_written, inherited, of_object, by_cpp = constructors
    return (
        name == b"torch.device"
        and written == also_written
        and inherited == of_object
        and len({written, inherited, by_cpp}) == 3
    )
