"""Names that an unknown function makes anew out of what they hold."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import targets_by_value
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import Device
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import UNKNOWN, Unknown


def of_rebound(frame: Frame, node: ast.Call, arguments: Arguments) -> list[Device]:
    """Where `x` is in ``x = pad(x, 2)``, if it came from another unknown function: it stays what it was."""
    at, value = next(iter(arguments.positional), (None, UNKNOWN))
    if not isinstance(at, ast.Name) or not isinstance(value, Unknown) or value.given is None:
        return []
    target = targets_by_value(frame.function or frame.machine.reading.tree_here).get(node)
    return [value.given] if isinstance(target, ast.Name) and target.id == at.id else []
