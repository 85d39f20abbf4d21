"""A value that was seen in use, as a description from which a script can make it, or one like it.

Small tensors are kept as they are, larger ones by shape, type and range. An object is described by the call that
constructed it, which somebody has to have seen (`made`).
"""

from __future__ import annotations

import argparse
import enum
import math
import sys
import types
from collections.abc import Callable
from typing import Any

import torch

from torchdevlint.runtime.execute.values import PUBLIC, Description, named, value

MOST_NUMBERS = 32
"""Elements of a tensor that is kept as it is."""
MOST_ITEMS = 16
LONGEST_TEXT = 200
_STRIDED = torch.strided
_NAMESPACES = (types.SimpleNamespace, argparse.Namespace)
_PLAIN = (torch.Tensor, torch.nn.Parameter)

Made = Callable[[Any], "Description | None"]
"""The description of an object as it was constructed; None if nobody saw it."""


class UndescribedError(Exception):
    """A value of which no description can be given."""


def described(one: Any, made: Made, depth: int = 4) -> Description:
    """The description of a value. Raises UndescribedError."""
    if one is None or isinstance(one, (bool, int, float, str)):
        if isinstance(one, enum.Enum) or type(one) not in (bool, int, float, str, type(None)):
            return _name(one) if isinstance(one, enum.Enum) else described(_number(one), made, 0)
        if isinstance(one, str) and len(one) > LONGEST_TEXT:
            raise UndescribedError("a long text")
        return value(one)
    if isinstance(one, torch.Tensor):
        return _tensor(one)
    if isinstance(one, torch.device):
        return {"is": "device"}
    if isinstance(one, torch.dtype):
        return {"is": "name", "of": str(one).replace(".", ":")}
    if isinstance(one, torch.Generator):
        return {"is": "generator"}
    if type(one).__module__ == "numpy":
        return _numpy(one)
    if isinstance(one, (type, types.FunctionType, types.BuiltinFunctionType, enum.Enum)):
        return _name(one)
    if depth == 0:
        raise UndescribedError("what is nested deeply")
    if type(one) in (list, tuple, dict, torch.Size):
        return _container(one, made, depth - 1)
    if (description := made(one)) is not None:
        return description
    return _of_fields(one, made, depth - 1)


def _of_fields(one: Any, made: Made, depth: int) -> Description:
    """What is constructed from its fields alone: a named tuple, a namespace."""
    if isinstance(one, tuple) and hasattr(one, "_fields"):
        given = dict(zip(one._fields, one, strict=True))
    elif type(one) in _NAMESPACES:
        given = vars(one)
    else:
        raise UndescribedError(f"a {type(one).__name__}")
    fields = {name: described(each, made, depth) for name, each in given.items()}
    return {"is": "instance", "of": path_of(type(one)), "with": fields}


def _container(one: Any, made: Made, depth: int) -> Description:
    if len(one) > MOST_ITEMS:
        raise UndescribedError("a long list")
    if isinstance(one, dict):
        if not all(type(key) is str for key in one):
            raise UndescribedError("a dict whose keys are no texts")
        return {"is": "dict", "of": {key: described(each, made, depth) for key, each in one.items()}}
    kind = "list" if isinstance(one, list) else "tuple"
    return {"is": kind, "of": [described(each, made, depth) for each in one]}


def _number(one: Any) -> Any:
    """A number or text of a class of its own, such as NumPy's, as a plain one."""
    for kind in (int, float, str):
        if isinstance(one, kind):
            return kind(one)
    raise UndescribedError(f"a {type(one).__name__}")


def _tensor(one: torch.Tensor) -> Description:
    if type(one) not in _PLAIN or one.layout is not _STRIDED or one.is_quantized or one.device.type == "meta":
        raise UndescribedError("a tensor of another class or layout")
    dtype = str(one.dtype).removeprefix("torch.")
    description: Description = {"is": "tensor", "shape": list(one.shape), "dtype": dtype}
    if one.requires_grad and one.is_leaf:
        description["grad"] = True
    plain = one.detach().cpu()
    if plain.numel() <= MOST_NUMBERS:
        if plain.is_complex():
            raise UndescribedError("a tensor of complex numbers")
        return {**description, "data": [_short(each) for each in plain.flatten().tolist()]}
    if plain.is_complex() or plain.dtype == torch.bool:
        return description
    wide = plain.double() if plain.is_floating_point() else plain.long()
    low, high = wide.min().item(), wide.max().item()
    if not (math.isfinite(low) and math.isfinite(high)):
        return description
    low, high = _short(low), _short(high)
    if low == high:
        return {**description, "fill": "same", "low": low, "high": high}
    if plain.is_floating_point() and low < -1 and high > 1 and abs(wide.mean().item()) < wide.std().item() / 2:
        return {**description, "fill": "normal"} if high < 6 and low > -6 else {**description, "low": low, "high": high}
    return {**description, "low": low, "high": high}


def _short(number: Any) -> Any:
    """A number in seven digits, which is what single precision has."""
    return float(f"{number:.7g}") if isinstance(number, float) and math.isfinite(number) else number


def _numpy(one: Any) -> Description:
    if getattr(one, "shape", None) == () and hasattr(one, "item") and type(one).__name__ != "ndarray":
        return value(_short(one.item()))
    try:
        return {"is": "numpy", "tensor": _tensor(torch.as_tensor(one.copy()))}
    except (TypeError, ValueError, AttributeError) as error:
        raise UndescribedError("an array of objects") from error


def _name(one: Any) -> Description:
    """A class, a function or a member of an enumeration, by its name."""
    if isinstance(one, enum.Enum):
        path = f"{path_of(type(one))}.{one.name}"
    elif isinstance(one, types.BuiltinFunctionType):
        path = next((f"{name}:{one.__name__}" for name in PUBLIC[:3] if _has(name, one.__name__, one)), "")
    else:
        path = path_of(one)
    if not path or (not isinstance(one, enum.Enum) and named(path) is not one):
        raise UndescribedError("a function without a name of its own")
    return {"is": "name", "of": path}


def path_of(one: Any) -> str:
    """``module:Name`` of a class or function, in torch the public one. Raises UndescribedError if none leads to it."""
    module, qualname = one.__module__, one.__qualname__
    for name in PUBLIC:
        if str(module).partition(".")[0] == "torch" and _has(name, qualname, one):
            return f"{name}:{qualname}"
    if module in (None, "__main__") or "<" in qualname or module not in sys.modules:
        raise UndescribedError("what was defined within a function or a script")
    return f"{module}:{qualname}"


def _has(module: str, name: str, one: Any) -> bool:
    return getattr(sys.modules.get(module), name, None) is one
