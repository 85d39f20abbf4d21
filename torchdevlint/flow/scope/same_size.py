"""The factories of a function by the size that they are told: what has one size is there for the same things."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import device_spec, dotted_path, mentions_device, public_path
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import keyword_of, once_a_node, own_nodes_in

_SIZED = frozenset(f"torch.{name}" for name in torch_api.SIZE_FACTORIES | {"full"})


@once_a_node
def factories_by_size(function: FunctionNode) -> tuple[tuple[ast.Call, ...], ...]:
    """The calls of factories of one size each, where it is more than numbers, and several are of it."""
    found: dict[str, list[ast.Call]] = {}
    for call in own_nodes_in(function, ast.Call):
        if public_path(call.func) in _SIZED:
            size = _size(call)
            if any(not isinstance(each, ast.Constant) for each in size):
                found.setdefault(" ".join(map(ast.dump, size)), []).append(call)
    return tuple(tuple(each) for each in found.values() if len(each) > 1)


def _size(call: ast.Call) -> list[ast.expr]:
    """What a factory is told of the size: ``(3, n)`` as well as ``3, n``."""
    first = call.args[0] if call.args else None
    if isinstance(first, (ast.Tuple, ast.List)) and (len(call.args) == 1 or public_path(call.func) == "torch.full"):
        return first.elts
    return call.args[:1] if public_path(call.func) == "torch.full" else call.args


def told_place(call: ast.Call) -> ast.expr | None:
    """The device that a factory is told, where it is one that the code has by name: ``device=x.device``."""
    place = keyword_of(call, "device")
    if place is None or isinstance(device_spec(place), ast.Constant):
        return None
    return place if mentions_device((dotted_path(place) or "").rpartition(".")[2]) else None
