"""What a round of a loop does not take from the one before: names that it binds first, and containers that it fills."""

from __future__ import annotations

import ast

from torchdevlint.source.nodes import assignment_of, nodes_in, once_a_node

Loop = ast.For | ast.AsyncFor | ast.While

FILLS = frozenset({"append", "extend", "insert", "add", "appendleft"})
"""Methods that put something into a list, a set or a queue."""


@once_a_node
def filled_in(loop: Loop) -> frozenset[str]:
    """The names to which a loop does nothing but ``x.append(..)`` as a statement, and ``x[key] = ..``."""
    called = (each.value.func for each in nodes_in(loop, ast.Expr) if isinstance(each.value, ast.Call))
    methods = (each for each in called if isinstance(each, ast.Attribute) and each.attr in FILLS)
    stores = (each for each in nodes_in(loop, ast.Subscript) if isinstance(each.ctx, ast.Store))
    parts: list[ast.Attribute | ast.Subscript] = [*methods, *stores]
    filled = [each.value for each in parts if isinstance(each.value, ast.Name)]
    if not filled:
        return frozenset()
    ids = set(map(id, filled))
    otherwise = {each.id for each in nodes_in(loop, ast.Name) if id(each) not in ids}
    return frozenset(each.id for each in filled if each.id not in otherwise)


@once_a_node
def bound_first_in(loop: Loop) -> frozenset[str]:
    """The names that each round binds before it reads them: its targets, and what a statement of its body assigns."""
    if isinstance(loop, ast.While):
        bound, seen = set[str](), _names_in(loop.test)
    else:
        bound, seen = _names_in(loop.target), set[str]()
    for statement in loop.body:
        assigned = assignment_of(statement)
        if assigned is not None:
            read = seen | _names_in(assigned.value)
            bound.update(each.id for each in assigned.targets if isinstance(each, ast.Name) and each.id not in read)
        seen |= _names_in(statement)
    return frozenset(bound)


def _names_in(node: ast.AST) -> set[str]:
    return {node.id} if isinstance(node, ast.Name) else {each.id for each in nodes_in(node, ast.Name)}
