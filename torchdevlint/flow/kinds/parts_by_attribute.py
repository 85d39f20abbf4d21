"""Parts of a batch that a scope knows by attributes alone: ``batch.y``, beside ``batch.x``, which it moves (TDL005).

What has to be moved was left where the loader made it, and so was what is beside it. An object whose methods are
called, or that goes elsewhere as a whole, may be moved by that.
"""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.kinds.loaders import is_from_loader
from torchdevlint.flow.scope.attribute_parts import known_by_attributes, moves_beside
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Tensor


def part_under_attribute(frame: Frame, batch: Tensor, node: ast.Attribute) -> Tensor | None:
    """``batch.y`` of what a loader gave, where the scope moves ``batch.x``, be it a tensor or a number; else None."""
    if not is_from_loader(batch) or not moves_beside(frame.function or frame.machine.tree, node):
        return None
    return replace(batch, ndim=None)


def is_written_apart(frame: Frame, target: ast.Attribute, batch: Tensor) -> bool:
    """Whether an attribute of what a loader gave is written, and the others stay where they were."""
    name, scope = target.value, frame.function or frame.machine.tree
    known = isinstance(name, ast.Name) and name.id in known_by_attributes(scope)
    return known and batch.opaque and is_from_loader(batch)
