"""What happens in another file to what this file gives it: by which call, and whether that file knows where it is."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import parameter_names
from torchdevlint.flow.state.devices import Device, Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.flow.state.values import Library, Obj, Site, Tensor, Value
from torchdevlint.source.nodes import inside


def led_by(frame: Frame, node: ast.AST) -> tuple[ast.Call, Frame] | None:
    """The call in this file that led to a place in another file, and the activation of what it calls."""
    span_of = frame.machine.span_of
    if not span_of(node).file:
        return None
    while frame.called_at is not None:
        call, outer = frame.called_at
        if not span_of(call).file:
            return (call, frame) if isinstance(call, ast.Call) else None
        frame = outer
    return None


def is_placed_elsewhere(frame: Frame, tensor: Tensor) -> bool:
    """Whether another file has brought it where it is, and not only made the layers that it comes from.

    What came there as an argument, and was not moved, is where this file has put it.
    """
    if not tensor.moved and tensor.device.origin in (Origin.MODEL, Origin.ARGUMENT):
        return False
    own = [step for step in tensor.steps if not step.of_module]
    return bool(own) and bool(frame.machine.span_of(own[-1].node).file)


def has_meet_elsewhere(
    frame: Frame, node: ast.AST, stayed: Tensor, sites: Sequence[Site], other: Tensor
) -> tuple[ast.Call, Frame] | None:
    """The call in this file that has a tensor which another file makes meet, there, what only this file has placed.

    What came in as an argument of this file as well is nowhere for all that it knows. Of the parameters of a model no
    file makes a tensor, so that a model which this one has made tells that it stays, wherever the other was placed.
    """
    span_of = frame.machine.span_of
    if not sites and stayed.steps and not any(span_of(each.node).file for each in stayed.steps):
        return led_by(frame, node)
    if other.device.origin is Origin.ARGUMENT or is_placed_elsewhere(frame, other):
        return None
    if frame.entry.kind == "init" and other.device.origin is Origin.MODEL:
        return None  # where it is built nothing has moved
    led = led_by(frame, node) if all(span_of(each.node).file for each in sites) else None
    return led if led is not None and any(_is_there(each, other.device) for each in led[1].given) else None


def _is_there(value: Value, device: Device) -> bool:
    """Whether what a call is given is on a device, or holds something that is."""
    if isinstance(value, Tensor):
        return value.device == device
    if isinstance(value, (Library, Obj)) and value.device == device:
        return True
    if isinstance(value, Obj):
        return any(_is_there(each, device) for _, each in value.given or ())
    return any(each.device == device for each in tensors_in(value))


def puts_several_together(frame: Frame, node: ast.expr, tensor: Tensor) -> bool:
    """Whether a function of another file makes a tensor of several arguments, none of which it places itself.

    What becomes of one argument is asked of all its callers, where the function is.
    """
    if frame.function is None or is_placed_elsewhere(frame, tensor):
        return False
    found, left = set[str](), [node]
    values = values_by_path(frame.function)
    while left:
        more = {each.id for each in inside(left.pop()) if isinstance(each, ast.Name)} - found
        found |= more
        left.extend(each for name in more for each in values.get(name, ()))
    return len(found & set(parameter_names(frame.function))) > 1
