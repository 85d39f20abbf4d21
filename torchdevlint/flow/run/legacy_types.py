"""Conversions that name a type of the CPU, and move there by that (TDL009)."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.state.devices import CPU, DEFAULT, Device, Origin, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Site, Step, Tensor

CONVERSION = "torch.Tensor.type"


def brought_down(frame: Frame, node: ast.Call, receiver: Tensor, device: Device | None) -> Tensor | None:
    """What ``x.type(torch.FloatTensor)`` gives, which was meant to convert: a tensor that stays on the CPU by that.

    None for another target, and for what is on the CPU, or nobody knows where.
    """
    source = receiver.device
    if (
        device != CPU
        or on_cpu(source)
        or source.origin is Origin.TOP
        or source.origin is Origin.KEPT
        or frame.machine.default_changed
    ):
        return None
    site = Site(node, CONVERSION, frame.context, frame.scope, False, None)
    step = Step("converted to a type of the CPU", node)
    steps = (*receiver.steps[:1], step)
    return replace(receiver, device=DEFAULT, creations=(site,), steps=steps, moved=False, parameter=False, opaque=False)
