"""Tensors that factories of the very function made which is run."""

from __future__ import annotations

from torchdevlint.flow.state.devices import DEFAULT
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Tensor
from torchdevlint.source.nodes import is_below


def is_made_here(frame: Frame, value: Tensor) -> bool:
    """Whether factories of this very function made it, on the default device, and not as a single number."""
    if value.device != DEFAULT or not value.creations or value.ndim == 0 or frame.function is None:
        return False
    function = frame.function
    return all(is_below(each.node, function) for each in value.creations)
