"""What reading an item gives of what is no container of Python: layers, data sets, checkpoints, objects of a class."""

from __future__ import annotations

import ast

from torchdevlint.flow.kinds import loaders
from torchdevlint.flow.kinds.sizes import is_mask
from torchdevlint.flow.run.functions import run_function
from torchdevlint.flow.run.modules import item_of
from torchdevlint.flow.scope.names import last_name
from torchdevlint.flow.state.devices import HOST
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import AT_LEAST_1, UNKNOWN, Library, Loaded, Obj, Tensor, Unknown, Value
from torchdevlint.patterns import regex

_DATA_SET = regex(r"(?:^|_)(?:data_?set|dset)$")
"""What data sets are called, where it is asked what this file gives to another one."""


def item_of_other(frame: Frame, state: State, node: ast.Subscript, value: Value, index: Value) -> Value:
    """``value[index]`` of what is neither a tensor nor a container."""
    sliced = isinstance(node.slice, ast.Slice)
    if isinstance(value, Library) and value.module:
        return item_of(value, sliced, index)
    if isinstance(value, Library):
        return loaders.item_of_data(frame, node, value, sliced)
    if isinstance(value, Loaded) and value.host:
        return Unknown(given=HOST)
    if type(value) is Obj:
        return _item_of_object(frame, state, node, value, UNKNOWN if sliced else index)
    if not isinstance(value, Unknown):
        return UNKNOWN
    if value == UNKNOWN and not frame.machine.wanted and _DATA_SET.search(last_name(node.value)):
        return Unknown(given=HOST)
    return _selected(frame, node, value, index) or value


def _item_of_object(frame: Frame, state: State, node: ast.Subscript, value: Obj, index: Value) -> Value:
    """What `__getitem__` gives of an object of a data set, where it is asked what this file gives to another one."""
    method = None if frame.machine.wanted or value.info.is_module else value.info.method("__getitem__", value)
    return UNKNOWN if method is None else run_function(frame, state, node, method, [index], {})


def _selected(frame: Frame, node: ast.Subscript, value: Unknown, index: Value) -> Value | None:
    """``x[x[:, 0] > 1]``: what takes a tensor made of itself for a mask, or for several indices, is a tensor."""
    if value.given is None or not isinstance(index, Tensor) or index.device != value.given:
        return None
    several = index.ndim or (index.ndim is None and is_mask(frame.function or frame.machine.tree, node.slice))
    return given_tensor(value.given, node.value, AT_LEAST_1) if several else None
