"""First values of attributes that are replaced by the time a list of the same object holds anything.

``if len(self.steps) > 0: scores = x + self.scores``: what ``__init__`` has bound to `scores` never comes there, where
`steps` is empty at first and whoever appends to it has bound `scores` anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.emptied_lists import is_empty_container
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.nodes import assignment_of, is_below, nodes_in, once_a_node, own_blocks_in

_FILLS = frozenset({"append", "extend", "insert", "appendleft", "add"})


def is_replaced_by_then(owner: ast.ClassDef, made: ast.AST, node: ast.AST) -> bool:
    """Whether `made` in ``__init__`` is no longer held where a test around `node` asks for the items of a list."""
    first = next((each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    if first is None or not is_below(made, first):
        return False
    bound = values_by_path(first)
    held = [path for path, values in bound.items() if any(made is each or is_below(made, each) for each in values)]
    if len(held) != 1 or not held[0].startswith("self."):
        return False
    asked = {path for test in nodes_in(owner, ast.If) for path in _asked_around(test, node)}
    return any(_is_empty_at_first(bound.get(path, [])) and _replaces(owner, path, held[0], node) for path in asked)


def _asked_around(test: ast.If, node: ast.AST) -> Iterator[str]:
    """The lists of the object that hold something in the arm of a test that `node` is in."""
    path, when = _asked(test.test)
    arm = test.body if when else test.orelse
    if path.startswith("self.") and any(is_below(node, each) for each in arm):
        yield path


def _asked(test: ast.expr) -> tuple[str, bool]:
    """The path of the list that a test asks for items, and whether it holds where there are some."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        path, when = _asked(test.operand)
        return path, not when
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
        told = type(test.ops[0]), test.comparators[0].value
        return (_measured(test.left), _FULL[told]) if told in _FULL else ("", False)
    return dotted_path(test) or _measured(test), True


_FULL = {
    (ast.Gt, 0): True,
    (ast.NotEq, 0): True,
    (ast.GtE, 1): True,
    (ast.Eq, 0): False,
    (ast.Lt, 1): False,
    (ast.LtE, 0): False,
}
"""Tests of a length that hold where there are items, or where there are none."""


def _measured(node: ast.expr) -> str:
    """`steps` of ``len(steps)``."""
    measures = isinstance(node, ast.Call) and dotted_path(node.func) == "len" and len(node.args) == 1
    return (dotted_path(node.args[0]) or "") if measures else ""  # type: ignore[attr-defined]


def _is_empty_at_first(values: list[ast.expr]) -> bool:
    return bool(values) and all(map(is_empty_container, values))


def _replaces(owner: ast.ClassDef, path: str, held: str, node: ast.AST) -> bool:
    """Whether all of a class that puts something into a list binds the attribute as well, in the block of that."""
    filled = [each for each in _changes(owner) if each[1] == path]
    line = getattr(node, "lineno", 0)
    return bool(filled) and all(
        block is not None and any(_binds(one, held) and (one.lineno < at or line < at) for one in block)
        for at, _, block in filled
    )


@once_a_node
def _changes(owner: ast.ClassDef) -> list[tuple[int, str, list[ast.stmt] | None]]:
    """What fills a list of the object: the line, the path, and the block; None for what is in no statement of its own.

    So it is for what binds the path to another list.
    """
    found: list[tuple[int, str, list[ast.stmt] | None]] = []
    told: set[int] = set()
    for method in (each for each in owner.body if isinstance(each, ast.FunctionDef)):
        for block in own_blocks_in(method):
            for each in block:
                call = each.value if isinstance(each, ast.Expr) else None
                path = _filled(call)
                if path:
                    told.add(id(call))
                    found.append((each.lineno, path, block))
                bound = assignment_of(each) if method.name != "__init__" else None
                paths = [dotted_path(one) or "" for one in bound.targets] if bound is not None else []
                full = bound is not None and not is_empty_container(bound.value)
                found += [(each.lineno, one, None) for one in paths if full]
                if isinstance(each, ast.AugAssign):
                    found.append((each.lineno, dotted_path(each.target) or "", None))
    others = (each for each in nodes_in(owner, ast.Call) if id(each) not in told)
    return found + [(each.lineno, path, None) for each in others if (path := _filled(each))]


def _filled(call: ast.AST | None) -> str:
    """`self.steps` of ``self.steps.append(step)``."""
    fills = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _FILLS
    return (dotted_path(call.func.value) or "") if fills else ""  # type: ignore[union-attr]


def _binds(statement: ast.stmt, path: str) -> bool:
    bound = assignment_of(statement)
    return bound is not None and any(dotted_path(each) == path for each in bound.targets)
