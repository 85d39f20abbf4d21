"""Losses that may bring their targets to where the output is: those of libraries that are not seen, and some seen."""

from __future__ import annotations

import ast
from functools import partial

from torchdevlint.flow.kinds.own_moves import moved_inputs
from torchdevlint.flow.run.imports import resolve
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.call_sites import calls_of, given_to
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Cls, Ref


def may_bring_targets(frame: Frame, state: State, loss: ast.expr) -> bool:
    """Whether `loss` is bound to what a class makes that neither torch nor the project has, or that moves its inputs.

    The function says so that calls it, else the class around, else the top level of the file; of an argument, the calls
    of the file do.
    """
    path, classes = dotted_path(loss), frame.owner.mro if frame.owner is not None else ()
    if path is None:
        return False
    function, tree = frame.function, frame.machine.reading.tree_here
    if isinstance(function, ast.FunctionDef) and path in parameter_names(function):
        given = (given_to(each, function, path) for each in calls_of(tree, function.name))
        paths = {dotted_path(each) for each in given if each is not None}
        values = [value for each in paths for value in values_by_path(tree).get(each or "", ())]
        return any(_may_bring(frame, state, each) for each in values)
    for scope in (function, *(each.node for each in classes), tree):
        values = values_by_path(scope).get(path, []) if scope is not None else []
        if values:
            return any(_may_bring(frame, state, each) for each in values)
    return False


def _may_bring(frame: Frame, state: State, value: ast.expr) -> bool:
    """``TripletLoss()`` and ``TripletLoss().to(device)`` of a class that was imported from elsewhere."""
    while isinstance(value, ast.Call) and isinstance(value.func, (ast.Name, ast.Attribute)):
        maker = frame.evaluate(value.func, state)
        if isinstance(maker, Ref):
            return maker.name.partition(".")[0] not in ("torch", "builtins")
        if isinstance(maker, Cls):
            return maker.info.is_module and bool(moved_inputs(maker.info, partial(resolve, frame)))
        value = value.func.value if isinstance(value.func, ast.Attribute) else value.func
    return False
