"""What a loss is given: tensors, whatever made them; and where the output of a model is that is an argument."""

from __future__ import annotations

import ast
import re

from msgspec.structs import replace

from torchdevlint.flow.kinds.parameters import place_of_argument
from torchdevlint.flow.run.operations import Operands
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.devices import DEFAULT, TOP, Device, Origin
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import AT_LEAST_1, Library, Tensor, Unknown, Value
from torchdevlint.patterns import regex

_MODEL = regex(
    r"(?:^|_)(?:model|net|network|net[a-z]|encoder|decoder|classifier|bert|module|backbone|critic|unet|student|teacher"
    r"|disc(?:riminator)?|generator|actor|policy|[dg])\d?$",
    re.IGNORECASE,
)
"""Names of models, as a second witness beside the loss that takes what they give."""
_MOST_NAMES = 3


def taken_by_loss(frame: Frame, state: State, operands: Operands, made_here: bool) -> Operands:
    """The operands of a loss: what came from an argument, or from a model that is one, is a tensor there.

    That matters only beside something that was `made_here`, a weight or a target, and where nothing was moved.
    """
    if any(isinstance(each, Tensor) and each.moved for _, value in operands for _, each in alternatives(value)):
        return operands
    if not made_here and not any(_is_made_here(value) for _, value in operands):
        return operands
    return [(at, _taken(frame, state, at, value)) for at, value in operands]


def note_classes(state: State, operands: Operands) -> None:
    """``F.cross_entropy(scores, classes)`` went well: both have dimensions, whatever else is known of them."""
    for at, value in operands:
        if isinstance(at, ast.Name) and isinstance(value, Tensor) and value.ndim is None:
            state.bind(at.id, replace(value, ndim=AT_LEAST_1))


def _is_made_here(value: Value) -> bool:
    held = (each for _, each in alternatives(value))
    return any(isinstance(each, Tensor) and each.device == DEFAULT and each.creations and each.ndim for each in held)


def _taken(frame: Frame, state: State, at: ast.expr, value: Value) -> Value:
    if not isinstance(value, Unknown):
        return value
    place = value.given or _place_of_output(frame, state, at, _MOST_NAMES)
    return value if place is None or place == TOP else given_tensor(place, at)


def _place_of_output(frame: Frame, state: State, node: ast.expr, names: int) -> Device | None:
    """Where ``out.logits.view(-1)`` is, if `out` is what a model gives that is an argument, or was put somewhere."""
    while not isinstance(node, ast.Name):
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _root(node.func) != "self":
            node = node.func.value
        elif isinstance(node, ast.Call):
            return _place_of_model(frame, state, node.func)
        else:
            return None
    made = values_by_path(frame.function).get(node.id, []) if frame.function is not None else []
    return _place_of_output(frame, state, made[0], names - 1) if len(made) == 1 and names else None


def _root(node: ast.expr) -> str:
    return (dotted_path(node) or "").partition(".")[0]


def _place_of_model(frame: Frame, state: State, callee: ast.expr) -> Device | None:
    path = dotted_path(callee)
    if path is None or _MODEL.search(path.rpartition(".")[2]) is None:
        return None
    value = frame.evaluate(callee, state)
    if isinstance(value, Library) and value.module and value.device not in (None, TOP, DEFAULT):
        return value.device
    place = place_of_argument(frame, path)
    return place if place.origin is Origin.ARGUMENT and isinstance(value, (Unknown, Library)) else None
