"""What a function puts into a dict when it finds it empty: later rounds find there what the first one put in."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.nodes import nodes_in, once_a_node


def filled_at_first_use(function: ast.AST, node: ast.If) -> frozenset[str]:
    """The entries that ``if len(state) == 0: state["step"] = 0`` fills, as paths, where nothing else writes them."""
    if node.orelse:
        return frozenset()
    asked = _asked_if_empty(node.test)
    if not asked:
        return frozenset()
    written = _entries_written(node)
    everywhere = _entries_written(function)
    return frozenset(
        path
        for path, (root, count) in written.items()
        if everywhere.get(path) == (root, count) and (root in asked or path in asked)
    )


@once_a_node
def _entries_written(scope: ast.AST) -> dict[str, tuple[str, int]]:
    """The paths of the entries that are assigned in a scope, each with the path of its dict, and how often."""
    found: dict[str, tuple[str, int]] = {}
    for node in nodes_in(scope, ast.Subscript):
        root, path = dotted_path(node.value), dotted_path(node)
        if root is not None and path is not None and isinstance(node.ctx, ast.Store):
            found[path] = (root, found.get(path, (root, 0))[1] + 1)
    return found


def _asked_if_empty(test: ast.expr) -> frozenset[str]:
    """The dicts that ``len(d) == 0`` and ``not d`` ask, and the entries that ``"k" not in d`` asks for."""
    if isinstance(test, ast.BoolOp):
        return frozenset().union(*map(_asked_if_empty, test.values))
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        path = dotted_path(test.operand)
        return frozenset() if path is None else frozenset({path})
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return frozenset()
    left, right = test.left, test.comparators[0]
    if isinstance(test.ops[0], ast.NotIn) and isinstance(left, ast.Constant):
        path = dotted_path(right)
        return frozenset() if path is None else frozenset({path, f"{path}[{left.value!r}]"})
    sized = left.args[0] if isinstance(left, ast.Call) and dotted_path(left.func) == "len" and left.args else None
    zero = isinstance(right, ast.Constant) and right.value == 0
    path = dotted_path(sized) if sized is not None and zero and isinstance(test.ops[0], ast.Eq) else None
    return frozenset() if path is None else frozenset({path})
