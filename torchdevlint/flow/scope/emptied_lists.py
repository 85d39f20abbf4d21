"""Lists that an arm of an ``if`` makes empty again: what is made beside that never comes into one with what was there.

``if full: x = torch.tensor(..); kept = []``: whatever appends `x` to `kept` later finds nothing of the time before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path, public_path
from torchdevlint.source.nodes import assignment_of, is_below, nodes_in, once_a_node

_EMPTY = frozenset({"list", "set", "collections.deque"})


def is_emptied_beside(scope: ast.AST, path: str, made: ast.AST, put: ast.AST) -> bool:
    """Whether an arm in which something is made empties the list to which `put`, outside of that arm, appends it."""
    arms = _emptying(scope).get(path, ())
    return any(_holds(arm, made) and not _holds(arm, put) for arm in arms)


def _holds(arm: list[ast.stmt], node: ast.AST) -> bool:
    return any(is_below(node, statement) for statement in arm)


@once_a_node
def _emptying(scope: ast.AST) -> dict[str, list[list[ast.stmt]]]:
    """The arms of tests by the paths of the lists that they empty."""
    found: dict[str, list[list[ast.stmt]]] = {}
    for test in nodes_in(scope, ast.If):
        for arm in (test.body, test.orelse):
            for path in dict.fromkeys(each for statement in arm for each in _emptied(statement)):
                found.setdefault(path, []).append(arm)
    return found


def _emptied(statement: ast.stmt) -> Iterator[str]:
    """The paths that ``x = []``, ``x, y = [], None`` and ``x.clear()`` leave empty."""
    bound = assignment_of(statement)
    for target in bound.targets if bound is not None else ():
        value = bound.value  # type: ignore[union-attr]
        parts = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            parts = list(zip(target.elts, value.elts, strict=True))
        yield from (path for one, made in parts if is_empty_container(made) and (path := dotted_path(one)) is not None)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "clear":
        path = dotted_path(call.func.value)
        if path is not None:
            yield path


def is_empty_container(node: ast.expr) -> bool:
    """``[]``, ``list()``, ``deque(maxlen=3)``."""
    if isinstance(node, ast.Call):
        return public_path(node.func) in _EMPTY and not node.args
    return isinstance(node, ast.List) and not node.elts
