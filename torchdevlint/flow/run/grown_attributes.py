"""Lists and dicts of tensors that ``__init__`` makes empty and fills: a Module registers none of them (TDL101)."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.uses import asked_in
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.flow.state.values import Map, Seq, Value
from torchdevlint.source.nodes import nodes_in

_CHANGES = frozenset("append extend insert add appendleft clear pop popleft remove update setdefault popitem".split())


def keep_grown(info: ClassInfo, end: State) -> None:
    """Let the other methods know what the empty containers of a Module hold when its ``__init__`` is done.

    Only where all of it is made there on the default device, and no other method changes the container.
    """
    for name, held in info.attributes.items():
        grown = end.paths.get(f"self.{name}")
        if not _is_empty(held) or not isinstance(grown, (Seq, Map)) or not _holds_new_tensors(grown):
            continue
        if len(info.writers.get(name, ())) == 1 and not _changes_elsewhere(info, name):
            info.attributes[name] = grown


def _is_empty(value: Value) -> bool:
    return (isinstance(value, Seq) and value.items == ()) or (
        isinstance(value, Map) and value.closed and not value.items
    )


def _holds_new_tensors(grown: Seq | Map) -> bool:
    found = list(tensors_in(grown))
    return bool(found) and all(each.device == DEFAULT and each.creations and not each.parameter for each in found)


def _changes_elsewhere(info: ClassInfo, name: str) -> bool:
    """Whether a method besides ``__init__`` writes into the container."""
    path = f"self.{name}"
    for method in (node for name, node in info.methods.items() if name != "__init__"):
        if not asked_in(method).get(path, set()).isdisjoint(_CHANGES):
            return True
        if any(
            dotted_path(each.value) == path and not isinstance(each.ctx, ast.Load)
            for each in nodes_in(method, ast.Subscript)
        ):
            return True
    return False
