"""Loads that stand in two arms, once with a place and once without: one for each kind of machine."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchdevlint.flow.scope.names import public_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.source.nodes import nodes_in, once_a_node

_LOADERS = frozenset({"load", "load_url", "load_state_dict_from_url"})
LOADS = tuple(f".{name}" for name in sorted(_LOADERS))
"""How the names of functions end that load."""
FROM_ADDRESSES = _LOADERS - {"load"}


def places_load(frame: Frame, one: Sequence[ast.AST], other: Sequence[ast.AST]) -> bool:
    """Whether one arm says ``load(p, map_location=..)`` and the other ``load(p)``."""
    if not one or not other or not frame.machine.words & _LOADERS:
        return False
    if not _places_any(frame.function or frame.machine.reading.tree_here):
        return False
    here, there = _loaded_in(frame, one), _loaded_in(frame, other)
    return not here[True].isdisjoint(there[False]) or not there[True].isdisjoint(here[False])


@once_a_node
def _places_any(scope: ast.AST) -> bool:
    """Whether any call of a function or file says where to load."""
    return any(placed for placed, _ in _loads_in(scope))


def _loaded_in(frame: Frame, body: Sequence[ast.AST]) -> dict[bool, set[str]]:
    """The first arguments of calls that load, by whether the call says where to."""
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for part in body:
        for placed, path in _loads_in(part):
            found[placed].add(frame.machine.reading.text_here(path))
    return found


@once_a_node
def _loads_in(part: ast.AST) -> list[tuple[bool, ast.expr]]:
    found = []
    for call in (part,) if isinstance(part, ast.Call) else nodes_in(part, ast.Call):
        if call.args:
            placed = any(each.arg == "map_location" for each in call.keywords)
            placed = placed or (len(call.args) > 1 and public_path(call.func).endswith(LOADS))
            found.append((placed, call.args[0]))
    return found
