"""Whether an expression gives the same each time that its line is run."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import inside, nodes_in

_MAX_HOPS = 3


def is_same_each_time(tree: ast.Module, function: AnyFunction | None, value: ast.expr | None) -> bool:
    """Whether no name in it is given to the function around, or bound there to what differs, or counts rounds."""
    if value is None:
        return False
    loops = (each.target for each in nodes_in(tree, ast.For))
    rounds = {each.id for target in loops for each in inside(target) if isinstance(each, ast.Name)}
    return _is_same(function, value, rounds, _MAX_HOPS)


def _is_same(function: AnyFunction | None, value: ast.expr, rounds: set[str], hops: int) -> bool:
    read = {each.id for each in inside(value) if isinstance(each, ast.Name)}
    if not read.isdisjoint(rounds):
        return False
    if function is None:
        return True
    if not read.isdisjoint(each.arg for each in nodes_in(function, ast.arg)):
        return False
    return all(_is_bound_to_same(function, each, rounds, hops) for each in _bound(function, read))


def _bound(function: AnyFunction, names: Iterable[str]) -> set[str]:
    """Those of the names that the function binds."""
    stored = {each.id for each in nodes_in(function, ast.Name) if isinstance(each.ctx, ast.Store)}
    return stored.intersection(names)


def _is_bound_to_same(function: AnyFunction, name: str, rounds: set[str], hops: int) -> bool:
    """Whether a function binds a name once, to what is the same each time: ``gpu = "1"``."""
    stores = [each for each in nodes_in(function, ast.Name) if each.id == name and isinstance(each.ctx, ast.Store)]
    values = values_by_path(function).get(name, [])
    alone = len(stores) == len(values) == 1 and hops > 0
    return alone and _is_same(function, values[0], rounds, hops - 1)
