"""Losses of libraries that are not seen: one may bring its targets to where the output is, as some do."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref


def is_of_another_library(frame: Frame, state: State, loss: ast.expr) -> bool:
    """Whether `loss` is bound to what a function or class makes that neither torch nor the project has.

    The function says so that calls it, else the class around, else the top level of the file.
    """
    path, classes = dotted_path(loss), frame.owner.mro if frame.owner is not None else ()
    if path is None:
        return False
    for scope in (frame.function, *(each.node for each in classes), frame.machine.reading.tree_here):
        values = values_by_path(scope).get(path) if scope is not None else None
        if values:
            return any(_is_made_elsewhere(frame, state, each) for each in values)
    return False


def _is_made_elsewhere(frame: Frame, state: State, value: ast.expr) -> bool:
    """``TripletLoss()`` and ``TripletLoss().to(device)`` of a class that was imported from elsewhere."""
    while isinstance(value, ast.Call) and isinstance(value.func, (ast.Name, ast.Attribute)):
        maker = frame.evaluate(value.func, state)
        if isinstance(maker, Ref):
            return maker.name.partition(".")[0] not in ("torch", "builtins")
        value = value.func.value if isinstance(value.func, ast.Attribute) else value.func
    return False
