"""What a loss is given: tensors, whatever made them; where the output of a model is that is an argument,
and what a model gives of which nothing is known but where its inputs are.
"""

from __future__ import annotations

import ast
import re

from msgspec.structs import replace

from torchdevlint.flow.kinds.parameters import place_of_argument
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.operations import Operands
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT, MODEL, TOP, Device, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives, distribute
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.others import owner_of
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import device_if_tensor, given_tensor
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    UNKNOWN,
    Choice,
    Const,
    Func,
    Library,
    Obj,
    Tensor,
    Text,
    Unknown,
    Value,
)
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import nodes_in, once_a_node

_MODEL = regex(
    r"(?:^|_)(?:model|net|network|net[a-z]|encoder|decoder|classifier|bert|module|backbone|critic|unet|student|teacher"
    r"|disc(?:riminator)?|generator|actor|policy|[dg])\d?$",
    re.IGNORECASE,
)
"""Names of models, as a second witness beside the loss that takes what they give."""
_MOST_NAMES = 3


def place_in_call(module: Library, operands: Operands) -> Device | None:
    """Where a layer is that is called: one of which that is not known would take an input of the model nowhere else."""
    if module.device == TOP and any(isinstance(each, Tensor) and each.device == MODEL for _, each in operands):
        return MODEL
    return TOP if module.device == DEFAULT else module.device


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


def follows_input(operands: Operands) -> Value:
    """What a module gives that came from elsewhere: it is where its inputs were moved to, or the call would fail.

    Which one of several accelerators that is, the module decides. Nor is it known of arguments which place they share.
    """
    if is_told_by_word(operands):
        return UNKNOWN
    given = {device_if_tensor(value) for _, value in operands}
    of_arguments = next(iter(given)) if len(given) == 1 else None
    if of_arguments is not None and of_arguments.origin is Origin.ARGUMENT:
        return Unknown(given=of_arguments)
    return follows_moved(operands)


def follows_moved(operands: Operands) -> Value:
    """What is by its name a model gives for inputs that were moved to one place for it, be it under a condition."""
    if is_told_by_word(operands):
        return UNKNOWN
    chosen = next((value for _, value in operands if type(value) is Choice), None)
    if chosen is not None:
        given = [(at, each) for at, each in operands if each is not chosen]
        at = next(at for at, each in operands if each is chosen)
        made = distribute(chosen, lambda each: follows_moved([*given, (at, each)]))
        return made if any(isinstance(each, Tensor) for _, each in alternatives(made)) else UNKNOWN
    moved = [each for _, value in operands if isinstance(each := _as_placed(value), Tensor) and _was_placed(each)]
    places = {
        replace(each.device, index=None) for each in moved if each.device not in (TOP, Device(Origin.LITERAL, "meta"))
    }
    return Tensor(places.pop(), None, (), moved[0].steps, opaque=True) if len(places) == 1 else UNKNOWN


def is_told_by_word(operands: Operands) -> bool:
    """Whether a module is told what to do, ``net(x, mode="decode")``: it may give something else for each word."""
    return any(_is_word(value) for _, value in operands)


def _is_word(value: Value) -> bool:
    if isinstance(value, Choice):
        return all(_is_word(each) for _, each in value.alternatives)
    return isinstance(value, Text) or (isinstance(value, Const) and isinstance(value.value, str))


def of_forward(module: Obj, operands: Operands) -> Value:
    """What a `forward` of this file gives that is not understood: it is where its inputs were moved to.

    Nothing is known of it where the method, or another one that it calls, may bring something to the host.
    """
    info = module.info
    if not info.is_module or any(_moves_something(info.all_methods[each][1]) for each in _run_by(info, "forward")):
        return UNKNOWN
    return follows_input(operands)


def _run_by(info: ClassInfo, name: str) -> set[str]:
    """The methods of a class that one of them calls, and it itself."""
    found, left = set[str](), [name]
    while left:
        each = left.pop()
        if each in info.all_methods and each not in found:
            found.add(each)
            left += [one.attr for one in nodes_in(info.all_methods[each][1], ast.Attribute)]
    return found


def takes_lengths(method: Func) -> bool:
    """Whether sequences are packed in the file of a method: by lengths of the CPU, whatever the rest is on."""
    names = owner_of(method.closure)
    return names is not None and "pack_padded_sequence" in names.module.source.text


@once_a_node
def _moves_something(method: FunctionNode) -> bool:
    return any(each.attr in _MOVES for each in nodes_in(method, ast.Attribute))


_MOVES = torch_api.MOVE_METHODS | {"numpy", "tolist", "item"}


def _as_placed(value: Value) -> Value:
    """What ``tokenize(texts).to(device)`` gives, of which nothing but the place is known: a module takes it there."""
    place = value.given if isinstance(value, Unknown) else None
    return value if place is None or place.origin is not Origin.EXPRESSION else Tensor(place, None, opaque=True)


def _was_placed(value: Tensor) -> bool:
    """Whether the code has put it on an accelerator, or what it is calculated from."""
    return not on_cpu(value.device) and (value.moved or value.device.origin in (Origin.LITERAL, Origin.EXPRESSION))
