"""What an index or a size is made of: tensors, or numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

_Tensor = torch.Tensor
_STEPS = frozenset((int, type(None), type(Ellipsis)))
_TUPLES = frozenset((tuple, list, torch.Size))


def is_of_sizes(argument: Any) -> bool:
    """Whether this is a size, or several; a tensor that is a size would be read, for which an accelerator waits."""
    return type(argument) in _STEPS or (type(argument) in _TUPLES and all(type(size) is int for size in argument))


def indices_in(index: Any) -> Sequence[torch.Tensor] | None:
    """The tensors in an index, none in one of numbers and slices of numbers; None for anything else."""
    kind = type(index)
    if kind in _STEPS:
        return ()
    if kind is slice:
        return () if _is_of_numbers(index) else None
    if kind is _Tensor:
        return (index,) if index.dim() else None  # one of 0 dimensions may be read as a number
    if kind is not tuple:
        return None
    found: Sequence[torch.Tensor] = ()
    for part in index:
        kind = type(part)
        if kind is _Tensor and part.dim():
            found = (*found, part)
        elif kind not in _STEPS and not (kind is slice and _is_of_numbers(part)):
            return None
    return found


def _is_of_numbers(part: slice) -> bool:
    return type(part.start) in _STEPS and type(part.stop) in _STEPS and type(part.step) in _STEPS
