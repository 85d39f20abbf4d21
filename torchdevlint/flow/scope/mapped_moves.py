"""What a function moves part by part, or leaves where it is beside its moved copy.

``tree_map(lambda t: t.to(device), rows)`` and ``{k: v.to(device) for k, v in rows.items()}`` move what `rows` holds.
Where another name is bound to that, `rows` itself is where it was, and so it comes to what is given `rows` later.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable

from torchdevlint.flow.scope.names import whole_of
from torchdevlint.flow.scope.plain_moves import is_plain_move, moved_by
from torchdevlint.source.nodes import inside, nodes_in, once_a_node, own_assignments_in

_VIEWS = frozenset({"items", "values"})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)


def moved_in_parts(node: ast.AST, is_move: Callable[[ast.Call], bool]) -> list[ast.expr]:
    """What a comprehension goes through to move each item, or a call is given beside a lambda that moves one."""
    if isinstance(node, (*_COMPREHENSIONS, ast.DictComp)):
        made = node.value if isinstance(node, ast.DictComp) else node.elt
        return [_held(each.iter) for each in node.generators if _moves_one(made, _names(each.target), is_move)]
    given = node.args if isinstance(node, ast.Call) else []
    mapping = [each for each in given if isinstance(each, ast.Lambda)]
    moves = (_moves_one(each.body, {one.arg for one in each.args.args[:1]}, is_move) for each in mapping)
    return [each for each in given if each not in mapping] if any(moves) else []


def _moves_one(made: ast.expr, names: set[str], is_move: Callable[[ast.Call], bool]) -> bool:
    """Whether an expression moves what has one of the names, or an item of that: ``(h[0].to(d), h[1].to(d))``."""
    moves = (each.func for each in (made, *nodes_in(made, ast.Call)) if isinstance(each, ast.Call) and is_move(each))
    moved = (whole_of(each.value) for each in moves if isinstance(each, ast.Attribute))
    return any(isinstance(each, ast.Name) and each.id in names for each in moved)


def _names(target: ast.expr) -> set[str]:
    return {each.id for each in inside(target) if isinstance(each, ast.Name)}


def _held(node: ast.expr) -> ast.expr:
    """`rows` of ``rows.items()``."""
    viewed = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS
    return node.func.value if viewed else node  # type: ignore[attr-defined]


@once_a_node
def left_behind_copies(function: ast.AST) -> frozenset[str]:
    """The names that a function binds once at most, and whose copy on a device it binds to another name."""
    moves = any(map(is_plain_move, nodes_in(function, ast.Call)))
    assigned = own_assignments_in(function) if moves else ()
    found = {name for each in assigned for name in _copied(each.value) - _targets(each.targets)}
    if not found:
        return frozenset()
    bound = Counter(each.id for each in nodes_in(function, ast.Name) if isinstance(each.ctx, ast.Store))
    bound.update(each.arg for each in nodes_in(function, ast.arg))
    return frozenset(each for each in found if bound[each] == 1)


def _targets(targets: list[ast.expr]) -> set[str]:
    return {name for each in targets for name in _names(each)}


def _copied(value: ast.expr) -> set[str]:
    """The names that an expression moves, as a whole or part by part."""
    move = moved_by(value)
    moved = [move.func.value] if move is not None and isinstance(move.func, ast.Attribute) else []
    moved += moved_in_parts(value, is_plain_move)
    return {each.id for each in moved if isinstance(each, ast.Name)}
