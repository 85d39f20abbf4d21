"""Metrics of torchmetrics: what they are given together, predictions and targets, has to be in one place."""

from __future__ import annotations

import ast

from torchdevlint.flow.calling.arguments import Arguments
from torchdevlint.flow.calling.tensor_methods import surely_tensor, tensor_operands
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library, Value
from torchdevlint.flow.transfer.operations import combine

_FUNCTIONAL = "torchmetrics.functional."
_MOVE_THEMSELVES = frozenset("MeanMetric SumMetric MaxMetric MinMetric CatMetric RunningMean RunningSum".split())
"""Put what they are given on their own device."""

_COMPARED = ("preds", "target", "indexes")
"""Arguments that are compared under these names; without names they are the first two."""


def compares(name: str) -> bool:
    """Whether it is a metric that compares what it is given, or a function that does what one does."""
    root, _, rest = name.partition(".")
    tail = rest.rpartition(".")[2]
    is_class = tail[:1].isupper() and tail not in _MOVE_THEMSELVES
    return root == "torchmetrics" and (is_class or (name.startswith(_FUNCTIONAL) and not tail.startswith("_")))


def note_call(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> None:
    """``metric(predictions, targets)``: nothing is moved, and sooner or later they meet."""
    if not compares(name):
        return
    compared = arguments.positional[:2] + [arguments.keywords[key] for key in _COMPARED if key in arguments.keywords]
    operands = [surely_tensor(*each) for pair in compared for each in tensor_operands(*pair)]
    combine(frame, state, node, f"`{frame.machine.text_of(node.func)}()`", operands, True)


def _note_update(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    for _, each in alternatives(receiver, state.conditions):
        if isinstance(each, Library):
            note_call(frame, state, node, each.name, arguments)


METHODS = {"update": _note_update}
