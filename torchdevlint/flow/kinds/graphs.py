"""Graphs of torch_geometric, as data sets and loaders give them: tensors of the CPU under known names (TDL005)."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path, mentions_cuda, mentions_device
from torchdevlint.flow.scope.uses import asked_in
from torchdevlint.flow.state.devices import LOADER
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import AT_LEAST_1, Library, Ref, Step, Tensor
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import inside

_LIBRARY = "torch_geometric."
_DATA_SETS = regex(r"torch_geometric\.datasets\.(?:\w+\.)*[A-Z]\w+")
_ENTRIES = frozenset("x y pos edge_index edge_attr edge_weight train_mask val_mask test_mask".split())
_WHOLE = frozenset({"data", "_data", *torch_api.MOVE_METHODS})
"""What a data set is asked for by whoever moves all of it."""


def is_data_set(name: str) -> bool:
    return _DATA_SETS.fullmatch(name) is not None


def data_set(frame: Frame, node: ast.Call, name: str) -> Library | None:
    """``Planetoid(root, "Cora")``, unless a transform may place what it gives."""
    if not is_data_set(name) or _places(frame):
        return None
    words = [each.id if isinstance(each, ast.Name) else getattr(each, "attr", "") for each in inside(node)]
    return None if any(mentions_device(each) or mentions_cuda(each) for each in words) else Library(name)


def _places(frame: Frame) -> bool:
    """Whether the file names the transform that moves graphs while they are loaded."""
    return "ToDevice" in frame.machine.reading.source.text


def graph_of(frame: Frame, taken: ast.AST, made_by: str) -> Tensor | None:
    """``dataset[0]``, of a data set that nothing moves as a whole."""
    held = isinstance(taken, ast.Subscript) and not isinstance(taken.value, ast.Call)
    path = dotted_path(taken.value) if held else ""  # type: ignore[attr-defined]
    if path is None or not asked_in(frame.machine.tree).get(path, set()).isdisjoint(_WHOLE):
        return None
    return Tensor(LOADER, AT_LEAST_1, (), (Step(made_by, taken),), opaque=True)


def entry_of_graph(frame: Frame, graph: Tensor, node: ast.Attribute) -> Tensor | None:
    """``data.x`` of something that is asked for its `edge_index` as well, in a file that knows torch_geometric."""
    path = dotted_path(node.value)
    if node.attr not in _ENTRIES or path is None or _places(frame):
        return None
    if not any(isinstance(each, Ref) and each.name.startswith(_LIBRARY) for each in frame.machine.globals.values()):
        return None
    asked = asked_in(frame.function or frame.machine.tree).get(path, set())
    return replace(graph, opaque=False, ndim=AT_LEAST_1) if "edge_index" in asked else None
