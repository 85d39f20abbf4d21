"""Reads by the host on a way that the place of a tensor has decided: ``if how == "host": return _solved(x)``.

Or that a test for arrays has: ``if type(points) is np.ndarray: return _moved(points, matrix)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.call_sites import own_call_sites
from torchdevlint.flow.scope.chosen_by_place import is_chosen_by_place
from torchdevlint.flow.scope.names import public_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.nodes import is_below, is_inside, nodes_in


def is_reached_by_place(frame: Frame, node: ast.AST) -> bool:
    """Whether the place of a tensor has decided that this code is run, or a call that leads to it.

    A private function is run by the calls of its own file alone. What is called for arrays gets arrays all along.
    """
    while frame.function is None or not is_chosen_by_place(frame.function, node):
        if frame.called_at is None:
            return _is_only_called_so(frame.machine.tree, frame.function)
        node, frame = frame.called_at
        if frame.function is not None and any(_asks_for_array(each) for each in _tests_that_hold(frame.function, node)):
            return True
    return True


def _asks_for_array(test: ast.expr) -> bool:
    """``isinstance(x, np.ndarray)``, ``type(x) is np.ndarray``, and nothing besides."""
    asked = test.comparators[0] if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.Eq)) else None
    if isinstance(test, ast.Call) and public_path(test.func) == "isinstance" and len(test.args) > 1:
        asked = test.args[1]
    return asked is not None and public_path(asked) == "numpy.ndarray"


def _tests_that_hold(function: ast.AST, node: ast.AST) -> Iterator[ast.expr]:
    """The tests of a function in whose arm a place is that is run where they hold."""
    for each in nodes_in(function, ast.If):
        if any(is_inside(node, statement) for statement in each.body):
            yield each.test


def _is_only_called_so(tree: ast.Module, function: ast.AST | None) -> bool:
    if not isinstance(function, ast.FunctionDef) or not function.name.startswith("_") or function not in tree.body:
        return False
    calls = [site.call for site in own_call_sites(tree, function)]
    return bool(calls) and all(_is_called_so(tree, each) for each in calls)


def _is_called_so(tree: ast.Module, call: ast.Call) -> bool:
    around = (each for each in nodes_in(tree, ast.FunctionDef) if is_below(call, each))
    return any(is_chosen_by_place(each, call) for each in around)
