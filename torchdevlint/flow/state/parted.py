"""Tensors that were in one place until a move took one of them away from the other."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import parameter_names, stem_of
from torchdevlint.flow.state.devices import CPU, Device, Origin, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Tensor
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import is_inside

_NAMED = frozenset({Origin.EXPRESSION, Origin.LITERAL})


def is_parted(frame: Frame, one: Tensor, other: Tensor) -> bool:
    """Whether a move has taken one of them away from the other."""
    brought = _was_brought(one, other) or _was_brought(other, one)
    return brought or was_left(frame, one, other) or was_left(frame, other, one)


def was_left(frame: Frame, one: Tensor, other: Tensor) -> bool:
    """Whether one is where an argument came, and the function has moved the other away, to a device that is named.

    ``mask = x > 0; x = x.to(device); x * mask``: the mask is where `x` was. What has no dimensions may stay there. A
    helper may move what is there already, and so may a move of what was made: ``torch.randn_like(x).cuda()``.
    """
    if one.device.origin is not Origin.ARGUMENT or one.ndim == 0 or other.device.origin not in _NAMED:
        return False
    if frame.depth or frame.function is None or on_cpu(other.device) or _is_of_another(frame, other.device):
        return False
    return any(each.left == one.device and _moves(each.node, one.device.name, frame) for each in other.steps)


def _is_of_another(frame: Frame, device: Device) -> bool:
    """Whether it is where another argument says that it is, ``y.device``, which may be the same place."""
    root, dot, _ = device.name.partition(".")
    names = parameter_names(frame.function) if isinstance(frame.function, AnyFunction) else frozenset()
    return bool(dot) and root in names - {"self"}


def _moves(node: ast.AST, name: str, frame: Frame) -> bool:
    """Whether it is ``x.to(device)`` of the argument `name` in the function that is run."""
    stem = stem_of(node) if isinstance(node, ast.Call) else None
    return isinstance(stem, ast.Name) and stem.id == name and is_inside(node, frame.function)  # type: ignore[arg-type]


def _was_brought(one: Tensor, other: Tensor) -> bool:
    """Whether one was moved to the CPU from where the other one is: ``x + y.cpu()``, where `y` was made of `x`."""
    if one.device != CPU or other.device.origin is Origin.TOP or on_cpu(other.device):
        return False
    return bool(one.steps) and one.steps[-1].left == other.device
