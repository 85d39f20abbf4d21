"""What a name or an attribute of `self` is bound to, where that is done once."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import argument_names, dotted_path
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.machine import Frame


def bound_once(frame: Frame, node: ast.expr) -> ast.expr | None:
    """The expression that a name of the function or the module, or an attribute of `self`, stands for; None if unsure.

    An attribute may be bound in another method, whose names mean nothing here: there only a call is told.
    """
    path, function = dotted_path(node), frame.function
    if path is None:
        return None
    if path.startswith("self."):
        values = [] if frame.owner is None else values_by_path(frame.owner.node).get(path, [])
        return values[0] if len(values) == 1 and isinstance(values[0], ast.Call) else None
    if not isinstance(node, ast.Name) or (function is not None and path in argument_names(function)):
        return None
    for scope in (frame.machine.tree,) if function is None else (function, frame.machine.tree):
        bound = [each for each in bindings_in(scope).get(path, ()) if each[1]]
        if bound:
            values = values_by_path(scope).get(path, [])
            return values[0] if len(values) == len(bound) == 1 else None
    return None
