"""Names that lead back to what a function has brought to the CPU, or read from a file: ``for p in copies``."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import unpacked_to, values_by_path
from torchdevlint.flow.scope.names import public_path
from torchdevlint.flow.scope.place_tests import brings
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_DEEP = 4
"""How many bindings are followed."""


def comes_from_host(function: Scope, node: ast.expr) -> bool:
    """Whether a value of a name in an expression, or of one that it is made of, is brought there or loaded."""
    found: set[str] = set()
    latest = {each.id for each in inside(node) if isinstance(each, ast.Name)}
    for _ in range(_DEEP):
        values = [value for name in latest for value in values_by_path(function).get(name, ())]
        values += [value for name in latest for _, value in unpacked_to(function, name)]
        values += [source for name in latest for source in _looped(function).get(name, ())]
        if any(brings(each) or _loads(each) for each in values):
            return True
        found |= latest
        latest = {each.id for value in values for each in inside(value) if isinstance(each, ast.Name)} - found
        if not latest:
            break
    return False


def _loads(value: ast.expr) -> bool:
    return any(isinstance(each, ast.Call) and public_path(each.func) == "torch.load" for each in inside(value))


@once_a_node
def _looped(function: Scope) -> dict[str, list[ast.expr]]:
    """What loops go through, by the names that they give it."""
    found: dict[str, list[ast.expr]] = {}
    for loop in nodes_in(function, ast.For):
        for each in nodes_in(loop.target, ast.Name):
            found.setdefault(each.id, []).append(loop.iter)
    return found
