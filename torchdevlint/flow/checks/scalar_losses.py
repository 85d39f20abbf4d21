"""Losses that `DataParallel` gathers: one number from each GPU becomes a vector (TDL403)."""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.parallel import GatheredLoss
from torchdevlint.flow.run.gathered import GATHERED
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import AT_LEAST_1, Const, Tensor, Value
from torchdevlint.source.nodes import nodes_in

_REDUCTIONS = frozenset({"mean", "sum", "max", "min", "amax", "amin", "norm", "prod", "median"})


def _note_backward(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``loss.backward()`` without a gradient, which only a scalar has by itself."""
    if not arguments.pairs or arguments.value(0, "gradient") == Const(None):
        _note(frame, state, node, receiver, "grad can be implicitly created only for scalar outputs")


def _note_item(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``loss.item()``."""
    _note(frame, state, node, receiver, "a Tensor with 2 elements cannot be converted to Scalar")


def _note(frame: Frame, state: State, node: ast.Call, receiver: Value, error: str) -> None:
    if not isinstance(receiver, Tensor) or receiver.ndim not in (1, AT_LEAST_1):
        return
    gather = next((step for step in receiver.steps if step.text == GATHERED), None)
    if gather is None or not isinstance(node.func, ast.Attribute) or _is_reduced_somewhere(frame, node.func.value):
        return
    machine, loss, called_at = frame.machine, node.func, gather.node
    machine.record(
        ("gathered loss", node),
        lambda: GatheredLoss(
            machine.span_of(node),
            machine.text_of(loss.value),
            loss.attr,
            error,
            machine.span_of(called_at),
            machine.span_of(loss.value),
        ),
        state,
    )


def _is_reduced_somewhere(frame: Frame, loss: ast.expr) -> bool:
    """Whether the function makes one number of what has that name, under whatever test."""
    path, scope = dotted_path(loss), frame.function or frame.machine.tree
    if path is None or scope is None:
        return False
    reductions = [
        (call.func.value, *call.args[:1])
        for call in nodes_in(scope, ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _REDUCTIONS
    ]
    return any(path in map(dotted_path, parts) for parts in reductions)


METHODS = {"backward": _note_backward, "item": _note_item}
