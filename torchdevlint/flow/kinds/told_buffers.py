"""What ``__init__`` of a Module keeps on a device that it is told, where it puts buffers as well.

``self.register_buffer("lat", torch.as_tensor(lat, device=device))`` beside ``self.lon = torch.as_tensor(lon,
device=device)``: the device is where the Module begins, and the buffer says that it may be moved.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.like_buffers import like_buffers
from torchdevlint.flow.scope.names import dotted_path, places_in
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Site, Tensor, Value
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import inside, nodes_in, once_a_node, own_assignments_in

_CHOSEN = frozenset({Origin.EXPRESSION, Origin.ARGUMENT, Origin.KEPT})


class Put(NamedTuple):
    """An attribute that is told a device, and the call that registers a buffer there."""

    target: ast.Attribute
    buffer: ast.Call


def named_as_kept(frame: Frame, target: ast.Attribute, value: Value) -> Value:
    """An attribute that is told a device, or made as a buffer is, with the assignment as the place that keeps it."""
    if not isinstance(value, Tensor) or value.parameter or value.ndim == 0:
        return value
    if not isinstance(frame.function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return value
    is_put = _is_chosen(value) and any(each.target is target for each in put_with_buffers(frame.function))
    is_like = not value.creations and any(each.target is target for each in like_buffers(frame.function))
    if not is_put and not is_like:
        return value
    return replace(value, creations=(Site(target, "", "init", frame.scope, False, None),))


def _is_chosen(value: Tensor) -> bool:
    """Whether the code says where it is, even if that is where something is of which nothing is known."""
    return value.device.origin in _CHOSEN or (value.device.origin is Origin.TOP and value.moved)


@once_a_node
def put_with_buffers(init: FunctionNode) -> tuple[Put, ...]:
    calls = [each for each in nodes_in(init, ast.Call) if dotted_path(each.func) == "self.register_buffer"]
    places = {name: each for each in calls for name in (*_told(init, each), *_where_it_is(each))}
    return tuple(_put_at(init, places)) if places else ()


def _where_it_is(call: ast.Call) -> Iterator[str]:
    """``value.device`` of ``self.register_buffer("value", value)``."""
    yield from (f"{each.id}.device" for each in call.args[1:2] if isinstance(each, ast.Name))


def _put_at(init: FunctionNode, places: dict[str, ast.Call]) -> Iterator[Put]:
    for each in own_assignments_in(init):
        target = each.targets[0]
        if isinstance(target, ast.Attribute) and dotted_path(target) == f"self.{target.attr}":
            buffer = next((places[name] for name in _told(init, each.value) if name in places), None)
            if buffer is not None:
                yield Put(target, buffer)


def _told(init: FunctionNode, value: ast.expr) -> list[str]:
    """The names of the devices that calls of an expression, or of what a name in it is bound to, are told."""
    names = [each.id for each in inside(value) if isinstance(each, ast.Name)]
    bound = (values_by_path(init).get(name, []) for name in names)
    made = [value, *(each[0] for each in bound if len(each) == 1)]
    calls = (call for each in made for call in inside(each) if isinstance(call, ast.Call))
    paths = (dotted_path(place) for call in calls for place in places_in(call))
    return [path for path in paths if path is not None and ("." not in path or path.endswith(".device"))]
