"""Reads by NumPy of one item of a dict, of which a function brings all others to the CPU.

``stats["std"].cpu().numpy()`` beside ``stats["mean"].numpy()``: what one call gave under several keys is in one place.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.brought_reads import brought_in, is_of_data, is_one_thing, read_stem, steps_of
from torchdevlint.flow.scope.host_sources import comes_from_host
from torchdevlint.flow.scope.names import last_name, parameter_names
from torchdevlint.flow.scope.place_tests import asks_before, exclude
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import is_name, nodes_in, once_a_node

_OF_BATCH = regex(r"batch|sample|data|item|input|example|target|entry|record|row|meta|info|state|ckpt|checkpoint")
"""Names of what comes from a data set or a file, of which a part may have been moved."""
_GIVING_DATA = frozenset({"next", "load", "pop", "get", "dict", "collate"})
_COPIES = frozenset({"cpu", "detach"})


def brought_beside_item(function: Scope, read: ast.Call) -> ast.Call | None:
    """``stats["std"].cpu().numpy()`` of a function that reads ``stats["mean"].numpy()`` in the same way."""
    stem = read_stem(read)
    if not brought_in(function) or not isinstance(stem, ast.Subscript) or not isinstance(stem.value, ast.Name):
        return None
    name, key = stem.value.id, _key(stem)
    if not key or _is_left_behind(key) or not _is_made_at_once(function, name) or asks_before(function, read):
        return None
    others = [each for each in _reads_of_items(function).get(name, ()) if _key(_read_from(each)) != key]
    if not all("cpu" in steps_of(each)[0] for each in others) or not is_one_thing(function, stem):
        return None
    alike = (each for each in others if _way(each) == _way(read) and is_one_thing(function, _read_from(each)))
    return next((each for each in alike if not exclude(function, read, each)), None)


def _read_from(read: ast.Call) -> ast.expr:
    """``x["key"]`` of ``x["key"].cpu().numpy()``."""
    return steps_of(read)[1]


def _way(read: ast.Call) -> tuple[str, ...]:
    return tuple(each for each in steps_of(read)[0] if each not in _COPIES)


def _is_left_behind(key: str) -> bool:
    return is_of_data(key) or is_bookkeeping(key)


def _key(stem: ast.expr) -> str:
    key = stem.slice.value if isinstance(stem, ast.Subscript) and isinstance(stem.slice, ast.Constant) else None
    return key if isinstance(key, str) else ""


def _is_made_at_once(function: Scope, name: str) -> bool:
    """Whether a dict is an argument, or what one call gave, and nothing writes an item of it; and it is no batch."""
    if _OF_BATCH.search(name.lower()):
        return False
    items = (each for each in nodes_in(function, ast.Subscript) if isinstance(each.ctx, ast.Store))
    if any(is_name(each.value, name) for each in items):
        return False
    values = values_by_path(function).get(name, [])
    if not values:
        return isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and name in parameter_names(function)
    made = values[0]
    if len(values) > 1 or not isinstance(made, ast.Call) or last_name(made.func) in _GIVING_DATA:
        return False
    return not comes_from_host(function, ast.Name(name, ast.Load()))


@once_a_node
def _reads_of_items(function: Scope) -> dict[str, list[ast.Call]]:
    """The reads ``x["key"].numpy()`` of a function, copied or not, by the name `x`."""
    found: dict[str, list[ast.Call]] = {}
    for call in nodes_in(function, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "numpy":
            stem = _read_from(call)
            if isinstance(stem, ast.Subscript) and isinstance(stem.value, ast.Name) and _key(stem):
                found.setdefault(stem.value.id, []).append(call)
    return found
