"""Losses that are moved for nothing: all that is asked of them is to go backward, and their number.

``loss = loss.cuda()`` gives the same gradients on whichever GPU the model is, since the copy is differentiated as well.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.programs.texts.places import expression_at
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.model import Span
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import inside, is_below, nodes_in

_ASKED = frozenset({"backward", "item", "tolist"})


def is_only_differentiated(tree: ast.Module, at: Span) -> bool:
    """Whether what a place moves takes its own name (``loss = loss.cuda()``), and goes backward, but meets nothing.

    That it goes backward without gradients says that it is one number.
    """
    place = expression_at(tree, at)
    functions = functions_in(tree)
    around = [each for each in functions if place is not None and is_below(place, each)]
    if not around:
        return False
    function = max(around, key=lambda each: each.lineno)
    moves = [each for each in nodes_in(function, ast.Assign) if place is not None and is_below(place, each)]
    name = dotted_path(moves[0].targets[0]) if moves else None
    value = moves[0].value if moves else None
    if name is None or not isinstance(value, ast.Call) or dotted_path(value.func) != f"{name}.cuda":
        return False
    return _goes_backward(function, name) and _reads(function, name) <= _harmless(function, value)


def _goes_backward(function: FunctionNode, name: str) -> bool:
    calls = nodes_in(function, ast.Call)
    return any(dotted_path(each.func) == f"{name}.backward" and not each.args for each in calls)


def _reads(function: FunctionNode, name: str) -> set[int]:
    return {id(each) for each in nodes_in(function, ast.Name) if each.id == name and isinstance(each.ctx, ast.Load)}


def _harmless(function: FunctionNode, move: ast.Call) -> set[int]:
    """What is read only to go backward, as a number or for people, or by the move itself."""
    asked = {
        id(each.func.value)
        for each in nodes_in(function, ast.Call)
        if isinstance(each.func, ast.Attribute) and each.func.attr in _ASKED
    }
    printed = {id(each.value) for each in nodes_in(function, ast.FormattedValue)}
    return asked | printed | {id(each) for each in inside(move)}
