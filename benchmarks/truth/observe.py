"""Run one program and write down what happened, in this process."""

from __future__ import annotations

import enum
import gc
import io
import linecache
import sys
import types
from collections.abc import Mapping
from typing import Any

from benchmarks.truth.case import Case

DIGITS = 4
LONGEST_MESSAGE = 4000
MODULE = "truth_case"


def observe(case: Case, first: str, second: str) -> dict[str, Any]:
    """The outcome of `case`: ``{"outcome": "ok", "seen": ..}``, or ``raises`` with ``exception`` and ``message``.

    ``exception`` holds the names of the exception's class and its bases without `object`, the most special first.
    """
    import numpy
    import torch
    from torch import nn
    from torch.nn import functional

    seen: dict[str, Any] = {}
    names = _module()
    names |= {
        "torch": torch,
        "nn": nn,
        "F": functional,
        "np": numpy,
        "io": io,
        "first": first,
        "second": second,
        "seen": seen,
    }
    torch.manual_seed(0)
    if case.group == "memory":
        gc.collect()  # what the programs before have left in circles would be given back in the middle of this one
    file = f"<{case.id}>"
    linecache.cache[file] = (len(case.program), None, case.program.splitlines(keepends=True), file)
    try:
        exec(compile(case.program, file, "exec", dont_inherit=True), names)
        return {"outcome": "ok", "seen": {name: describe(value) for name, value in seen.items()}}
    except Exception as error:  # noqa: BLE001 (whatever it raises is the observation)
        return {
            "outcome": "raises",
            "exception": [kind.__name__ for kind in type(error).__mro__[:-1]],
            "message": str(error)[:LONGEST_MESSAGE],
        }


def _module() -> dict[str, Any]:
    """The names of a new module, which is what `torch.compile` imports by the name of a program's functions."""
    sys.modules[MODULE] = types.ModuleType(MODULE)
    return vars(sys.modules[MODULE])


def describe(value: Any) -> Any:
    """As plain JSON: a tensor is its device, type and size, a device its name, a number is rounded."""
    import numpy
    import torch

    if isinstance(value, torch.Tensor):
        return f"{value.device} {str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    if isinstance(value, numpy.ndarray):
        return f"ndarray {value.dtype} {list(value.shape)}"
    if isinstance(value, numpy.generic):
        return f"numpy.{type(value).__name__}"
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, enum.Enum):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, (torch.device, torch.dtype, torch.layout)):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): describe(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = [describe(part) for part in value]
        return sorted(parts, key=str) if isinstance(value, (set, frozenset)) else parts
    return f"a {type(value).__name__}"
