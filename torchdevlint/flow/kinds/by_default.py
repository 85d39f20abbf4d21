"""What the defaults of parameters are, and which of them stand for what callers leave out."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import UNKNOWN, Const, Ref, Value


def default_value(activation: Frame, node: ast.expr) -> Value:
    """A default is evaluated where the function was defined; only what needs no local name is looked at."""
    if isinstance(node, ast.Constant):  # as most are, for which nothing has to be set up
        return Const(node.value)
    outer = Frame(activation.machine, activation.entry, activation.closure, activation.scope, depth=activation.depth)
    around = activation.machine.reading.enter(activation.closure)
    try:
        return outer.evaluate(node, State({}))
    finally:
        activation.machine.reading.leave(around)


def left_to_default(frame: Frame, default: ast.expr | None) -> Value:
    """What a call that is a default gives, or the factory that is one: ``window_fn=torch.hann_window``."""
    if isinstance(default, ast.Call):
        return default_value(frame, default)
    found = default_value(frame, default) if default is not None and dotted_path(default) is not None else UNKNOWN
    return found if isinstance(found, Ref) and _makes_tensors(found.name) else UNKNOWN


def _makes_tensors(name: str) -> bool:
    """Whether it is a factory of torch that makes tensors of sizes and numbers, on the default device."""
    head, _, tail = name.rpartition(".")
    return head == "torch" and tail in torch_api.FACTORIES
