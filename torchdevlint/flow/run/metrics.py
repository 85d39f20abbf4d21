"""Losses and metrics: what they keep, and what they are given together, predictions and targets."""

from __future__ import annotations

import ast

from torchdevlint.flow.events import Escaped
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.operations import combine
from torchdevlint.flow.run.tensor_methods import surely_tensor, tensor_operands
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State, only
from torchdevlint.flow.state.tensors import modules_in
from torchdevlint.flow.state.values import NONE, Const, Library, Tensor
from torchdevlint.flow.vouch.devices import remember

_COLLECTION = "torchmetrics.MetricCollection"
_KINDS_OF_TASK = ("Binary", "Multiclass", "Multilabel")
_FUNCTIONAL = "torchmetrics.functional."
_MOVE_THEMSELVES = frozenset("MeanMetric SumMetric MaxMetric MinMetric CatMetric RunningMean RunningSum".split())
"""Put what they are given on their own device."""

_COMPARED = ("preds", "target", "indexes")
"""Arguments that are compared under these names; without names they are the first two."""


def weight_of(tail: str, arguments: Arguments) -> tuple[ast.expr, Tensor] | None:
    """The tensor that a loss of torch.nn keeps as a buffer, with the argument that gives it."""
    for name, position in torch_api.LOSS_WEIGHTS.get(tail, {}).items():
        given = arguments.get(position, name)
        weight = None if given is None else only(given[1], Tensor)
        if given is None or weight is None:
            continue
        others = [each for _, each in alternatives(given[1]) if each is not weight]
        if all(each == NONE for each in others) and (weight.ndim or tail not in torch_api.ELEMENTWISE_LOSSES):
            return given[0], weight
    return None


def is_metric(name: str) -> bool:
    """Whether it is a class of torchmetrics that keeps its sums in tensors, or a collection of such."""
    root, _, rest = name.partition(".")
    tail = rest.rpartition(".")[2]
    for kind in _KINDS_OF_TASK:
        tail = tail.removeprefix(kind)
    return root == "torchmetrics" and (tail in torch_api.METRICS or tail == "MetricCollection")


def construct(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> Library | None:
    """A metric on the default device, or a collection, which registers those that it is given."""
    if not frame.machine.default_is_cpu(state):
        return None
    remember(frame, state, node)
    if name.endswith("MetricCollection"):
        given = [each for value in arguments.values for each in modules_in(value)]
        frame.machine.emit(Escaped(frame, arguments.values))
        held = any(is_metric(each.name) for each in given)
        return Library(_COLLECTION, True, DEFAULT, made_at=node) if held else None
    if arguments.keyword_values.get("multidim_average", NONE) not in (NONE, Const("global")):
        return None
    return Library(name, True, DEFAULT, made_at=node)


def compares(name: str) -> bool:
    """Whether it is a metric that compares what it is given, or a function that does what one does."""
    root, _, rest = name.partition(".")
    tail = rest.rpartition(".")[2]
    is_class = tail[:1].isupper() and tail not in _MOVE_THEMSELVES
    return root == "torchmetrics" and (is_class or (name.startswith(_FUNCTIONAL) and not tail.startswith("_")))


def compare(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> None:
    """``metric(predictions, targets)``: nothing is moved, and sooner or later they meet."""
    if not compares(name):
        return
    compared = arguments.positional[:2] + [arguments.keywords[key] for key in _COMPARED if key in arguments.keywords]
    operands = [surely_tensor(*each) for pair in compared for each in tensor_operands(*pair)]
    combine(frame, state, node, f"`{frame.machine.text_of(node.func)}()`", operands, True)
