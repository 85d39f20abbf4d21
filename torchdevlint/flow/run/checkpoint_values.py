"""Checkpoints as values: what a load gives, what a state dict is, and what is taken out of either."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.arguments import as_device
from torchdevlint.flow.scope.assigned import targets_by_value
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.uses import uses_in
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import CPU, HOST, TOP, Origin, on_cpu
from torchdevlint.flow.state.joins import sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import (
    TEXT,
    UNKNOWN,
    Library,
    Loaded,
    Obj,
    Seq,
    StateDict,
    Step,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.source.nodes import nodes_in

_PARTS = frozenset({"get", "pop", "copy", "items", "values", "state_dict", "float"})
_PUT = frozenset({Origin.EXPRESSION, Origin.LITERAL})
_KEEPING_PLACE = torch_api.METHOD_TENSOR.difference(torch_api.DEVICE_METHODS, {"to"})


def load(frame: Frame, node: ast.Call, name: str, arguments: Arguments) -> Value:
    """What a call that reads storages gives."""
    path = frame.machine.text_of(arguments.positional[0][0]) if arguments.positional else ""
    place = arguments.get(torch_api.LOADERS[name], "map_location")
    there = TOP if place is None else as_device(frame, *place)
    if there.origin in _PUT and not on_cpu(there) and _is_run(frame, node):
        return Library("", True, there, made_at=node, placed=Step(f"read to {there.describe()}", node))
    return Loaded(node, path, there == CPU)


def _is_run(frame: Frame, node: ast.Call) -> bool:
    """Whether what a load gives is bound to a name that is called, as a whole model is, and never asked for a key.

    An attribute of `self` may be called by any method.
    """
    scope = frame.function or frame.machine.tree
    target = targets_by_value(scope).get(node)
    if isinstance(target, ast.Attribute) and frame.owner is not None:
        path, owner = dotted_path(target), frame.owner.node
        called = any(dotted_path(each.func) == path for each in nodes_in(owner, ast.Call))
        return called and not any(dotted_path(each.value) == path for each in nodes_in(owner, ast.Subscript))
    uses = uses_in(scope).get(target.id) if isinstance(target, ast.Name) else None
    return uses is not None and uses.called and not uses.is_container


def call_method(callee: ast.Attribute, receiver: Value) -> Value:
    """What a method of a checkpoint or a state dict gives: what is taken out of a checkpoint is part of it."""
    if isinstance(receiver, StateDict) and callee.attr in ("items", "values"):
        each = Tensor(TOP, None, (), (Step("a tensor of a state dict", callee),))
        return Seq(None, sequence([TEXT, each]) if callee.attr == "items" else each)
    if isinstance(receiver, Loaded) and callee.attr in _PARTS:
        return receiver
    if isinstance(receiver, Loaded) and receiver.host and callee.attr in _KEEPING_PLACE:
        return Unknown(given=HOST)
    return receiver if callee.attr == "copy" else UNKNOWN


def state_dict(frame: Frame, node: ast.Call, callee: ast.Attribute, target: Obj | Library) -> Value:
    prefix = target.prefix if isinstance(target, Library) else ""
    wrapper = target.name if isinstance(target, Library) and prefix else ""
    made_at = target.made_at if isinstance(target, Library) else None
    return StateDict(prefix, wrapper, frame.machine.text_of(callee.value), node, made_at, frame.function)
