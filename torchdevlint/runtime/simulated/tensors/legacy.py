"""The legacy constructors: `torch.Tensor(..)`, `torch.FloatTensor(..)`, `torch.cuda.FloatTensor(..)`, and sparse ones.

The first follows the default tensor type and no default device; the others name their place. They are also classes
for `isinstance`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.state import Simulation, simulation
from torchdevlint.runtime.simulated.tensors.claims import CPU, claim_of, device_of, real_device

DTYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "ByteTensor": torch.uint8,
    "CharTensor": torch.int8,
    "ShortTensor": torch.int16,
    "IntTensor": torch.int32,
    "LongTensor": torch.int64,
    "BoolTensor": torch.bool,
}

REAL_TYPES = {name: getattr(torch, name) for name in DTYPES}
"""The types of the CPU as they were when this module was imported: C++ takes no others."""

REAL_SPARSE_TYPES = {name: getattr(torch.sparse, name) for name in DTYPES if hasattr(torch.sparse, name)}

_new = torch._C.TensorBase.__new__


class _TensorType(type):
    """What `torch.tensortype` is in C++ (torch/csrc/tensor/python_tensor.cpp: Tensor_instancecheck)."""

    dtype: torch.dtype
    layout: torch.layout
    is_cuda: bool

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, torch.Tensor)
            and instance.dtype is cls.dtype
            and device_of(instance).type == ("cuda" if cls.is_cuda else "cpu")
            and instance.layout is cls.layout
        )

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def _tensor_type(module: str, kind: str, name: str) -> type:
    """``torch.FloatTensor`` or ``torch.cuda.FloatTensor``: `kind` is ``cpu`` or ``cuda``. So for ``torch.sparse``."""
    sparse = module.endswith(".sparse")
    construct = (REAL_SPARSE_TYPES if sparse else REAL_TYPES)[name]

    def new(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        active = simulation()
        wanted = torch.device(kind if device is None else device)
        if wanted.type != kind:
            raise RuntimeError(
                f"legacy constructor expects device type: {kind} but device type: {wanted.type} was passed"
            )
        target = active.resolve(wanted)
        if len(args) == 1 and isinstance(args[0], torch.Tensor):
            # Where every accelerator is the CPU, what is of one type is of that of any accelerator as well.
            one_place = active.flat and (args[0].dtype, args[0].layout) == (cls.dtype, cls.layout)
            if not (one_place or isinstance(args[0], cls)):
                names = f"expected {module}.{name} (got {args[0].type()})"
                raise TypeError(_not_of_the_type(name, kind, args[0]) or names)
            return args[0].detach()
        made = construct(*args, **kwargs)
        # torch/csrc/utils/tensor_new.cpp, `legacy_sparse_tensor_generic_ctor_new`: it is where its values are.
        if not (sparse and any(isinstance(arg, torch.Tensor) for arg in args)):
            active.created(made, target, name)
        return made

    namespace = {
        "__new__": new,
        "__module__": module,
        "dtype": DTYPES[name],
        "layout": torch.sparse_coo if sparse else torch.strided,
        "is_cuda": kind == "cuda",
        "is_sparse": sparse,
    }
    return _TensorType(name, (), namespace)


def _not_of_the_type(name: str, kind: str, given: torch.Tensor) -> str:
    """torch/csrc/utils/tensor_new.cpp, `legacy_tensor_generic_ctor_new`: in the words that C++ has for options.

    Those of the two types are had by giving each constructor of the CPU a tensor that it does not take.
    """
    own, other = (_options(one) for one in (DTYPES[name], given.dtype))
    if given.layout is not torch.strided or not own or not other:
        return ""
    return f"expected {own.replace('device=cpu', f'device={kind}')} (got {other.replace('cpu', str(device_of(given)))})"


@functools.cache
def _options(dtype: torch.dtype) -> str:
    """``TensorOptions(dtype=float, device=cpu, ..)``; empty for a release that has other words."""
    name = "DoubleTensor" if dtype is torch.float32 else "FloatTensor"
    with _disable_current_modes():
        try:
            REAL_TYPES[name](torch._C._VariableFunctions.empty(0, dtype=dtype))
        except TypeError as error:
            found = re.search(r"\(got (TensorOptions\(.*\))\)$", str(error))
            return found[1] if found else ""
    return ""


@functools.wraps(_new)  # dynamo compares the signature of its own, unless there is none: of C++ nothing is known
def _tensor(cls: type, *args: Any, **kwargs: Any) -> torch.Tensor:
    active = simulation()
    made: torch.Tensor = _new(cls, *args, **kwargs)
    if claim_of(made) is None and real_device(made) == CPU:
        default = active.default_type_device
        active.created(made, CPU if default is None else active.resolve(default), "Tensor")
    return made


def patches(active: Simulation) -> Iterator[Patch]:
    """What replaces the legacy constructors."""
    yield torch.Tensor, "__new__", staticmethod(_tensor)
    for name in DTYPES:
        yield torch, name, _tensor_type("torch", "cpu", name)
        if active.kind == "cuda" and active.driver.installed:
            yield torch.cuda, name, _tensor_type("torch.cuda", "cuda", name)
    for name in REAL_SPARSE_TYPES:
        yield torch.sparse, name, _tensor_type("torch.sparse", "cpu", name)
        if active.kind == "cuda" and active.driver.installed:
            yield torch.cuda.sparse, name, _tensor_type("torch.cuda.sparse", "cuda", name)
