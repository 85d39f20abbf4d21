"""Reads by the host on a way that the place of a tensor has decided: ``if how == "host": return _solved(x)``."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.call_sites import own_call_sites
from torchdevlint.flow.scope.chosen_by_place import is_chosen_by_place
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.nodes import is_below, nodes_in


def is_reached_by_place(frame: Frame, node: ast.AST) -> bool:
    """Whether the place of a tensor has decided that this code is run, or a call that leads to it.

    A private function is run by the calls of its own file alone.
    """
    while frame.function is None or not is_chosen_by_place(frame.function, node):
        if frame.called_at is None:
            return _is_only_called_so(frame.machine.tree, frame.function)
        node, frame = frame.called_at
    return True


def _is_only_called_so(tree: ast.Module, function: ast.AST | None) -> bool:
    if not isinstance(function, ast.FunctionDef) or not function.name.startswith("_") or function not in tree.body:
        return False
    calls = [site.call for site in own_call_sites(tree, function)]
    return bool(calls) and all(_is_called_so(tree, each) for each in calls)


def _is_called_so(tree: ast.Module, call: ast.Call) -> bool:
    around = (each for each in nodes_in(tree, ast.FunctionDef) if is_below(call, each))
    return any(is_chosen_by_place(each, call) for each in around)
