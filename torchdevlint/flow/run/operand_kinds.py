"""What an operand says of the other one: numbers are not asked for their shape."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from torchdevlint.flow.kinds.parameters import place_of_argument
from torchdevlint.flow.run.operations import Operands
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.dimensions import grows, takes_along
from torchdevlint.flow.scope.names import dotted_path, parameter_names, positional_names
from torchdevlint.flow.scope.uses import Scope, Uses, asked_in, bindings_in, uses_in
from torchdevlint.flow.state.devices import TOP, Origin
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import UNKNOWN, Choice, Tensor, Unknown, Value
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import is_name

_OF_ARRAYS = frozenset({"shape", "ndim"})
_METHODS = frozenset("sum mean prod exp log sqrt pow abs float clamp relu sigmoid softmax flatten view reshape".split())
"""What is calculated element by element or along dimensions, of arrays of any kind."""
_MOST_NAMES = 2
_OF_TENSORS = regex(r"[xyz]s?|x_?\d|inputs?|hidden|feat(?:ure)?s?|latents?|emb(?:edding)?s?|logits|images?|obs")
"""Names of what is given to a model, and never of numbers that it is told."""


def told_by_other(frame: Frame, operands: Operands, product: bool = False) -> Operands:
    """Beside a tensor that was made here, an argument that is asked for its shape is a tensor, and no number.

    The same goes for one that gets a further dimension, ``t[:, None]``, for a part along one of several dimensions,
    ``t[:, 0]``, and for what is calculated with such.

    So is what ``forward`` is given first, and what another method of a Module is, if it is called like one; and in a
    matrix `product` there are no numbers at all.
    """
    kinds = {type(value) for _, value in operands}
    if Choice not in kinds and not (Tensor in kinds and Unknown in kinds):
        return operands
    held = [each for _, value in operands for _, each in alternatives(value)]
    if product and any(isinstance(each, Tensor) and each.creations for each in held):
        operands = [(at, _in_product(at, value)) for at, value in operands]
    if not any(type(each) is Tensor and each.creations and each.ndim for each in held):
        return operands
    return [(at, _told(frame, at, value)) for at, value in operands]


def _in_product(at: ast.expr, value: Value) -> Value:
    given = value.given if isinstance(value, Unknown) else None
    return given_tensor(given, at) if given is not None and given.origin is Origin.MODEL else value


def _told(frame: Frame, at: ast.expr, value: Value) -> Value:
    given = value.given if isinstance(value, Unknown) else None
    if value == UNKNOWN and isinstance(at, ast.BinOp):
        return _told_by_part(frame, at)
    if given is None or given.origin not in (Origin.ARGUMENT, Origin.MODEL) or frame.function is None:
        return value
    used, asked = uses_in(frame.function), asked_in(frame.function)
    for node in calculated_with(frame.function, at):
        parted = isinstance(node, ast.Subscript) and (grows(node.slice) or takes_along(node.slice))
        name = dotted_path(node.value if parted else node)  # type: ignore[attr-defined]
        if name is None:
            continue
        if "." in name or "[" in name:
            if asked.get(name, set()) & _OF_ARRAYS:
                return given_tensor(given, at)
            continue
        uses = used.get(name) or Uses()
        if uses.is_container or uses.called or uses.class_is_asked_for:
            continue
        if name in _first_input(frame, given.origin):
            return given_tensor(given, at)
        if uses.attributes & _OF_ARRAYS or name != dotted_path(node) or _is_item_of_alike(uses, asked):
            if name not in parameter_names(frame.function) or _is_bound_anew(frame, name):
                return given_tensor(given, at)
            place = place_of_argument(frame, name)
            return value if place == TOP else given_tensor(place, at)
    return value


def _told_by_part(frame: Frame, at: ast.BinOp) -> Value:
    """``x / keep`` of two arguments, the first of which that is asked for its shape is a tensor, where it came in."""
    used = {} if frame.function is None else uses_in(frame.function)
    for node in calculated_with(frame.function or frame.machine.tree, at):
        uses = used.get(node.id) if isinstance(node, ast.Name) else None
        if uses is None or not uses.attributes & _OF_ARRAYS or uses.is_container or uses.class_is_asked_for:
            continue
        place = place_of_argument(frame, node.id)  # type: ignore[attr-defined]
        if place != TOP:
            return given_tensor(place, at)
    return UNKNOWN


def _is_bound_anew(frame: Frame, name: str) -> bool:
    """Whether a parameter of what was entered is bound again somewhere: ``x = x + torch.randn(x.shape)``."""
    places = bindings_in(frame.function).get(name, ()) if frame.function is not None and not frame.depth else ()
    return any(is_bound for _, is_bound, _ in places)


def _is_item_of_alike(uses: Uses, asked: Mapping[str, set[str]]) -> bool:
    """Whether a loop gives it as one of several, another one of which is asked for its shape: ``parts[0].shape``."""
    whole = dotted_path(uses.looped_over) if uses.looped_over is not None else None
    return whole is not None and any(
        path.startswith(f"{whole}[") and attributes & _OF_ARRAYS for path, attributes in asked.items()
    )


def _first_input(frame: Frame, origin: Origin) -> list[str]:
    """The first parameter of ``forward`` after `self`; of another method of a Module, if it has a name of tensors.

    As in ``def log_prob(self, z): return -((z - self.mean) ** 2).sum(-1)``. So is the first one of the method that
    ``forward`` hands it on to: ``self.normalize(x)``.
    """
    function = frame.function
    if not isinstance(function, ast.FunctionDef):
        return []
    first = positional_names(function)[1:2]
    if function.name == "forward":
        return first if origin is Origin.MODEL else []
    if frame.depth and origin is Origin.MODEL:
        return first if _is_given_first_input(frame) else []
    of_module = frame.owner is not None and frame.owner.is_module and frame.entry.kind == "method"
    return [name for name in first if _OF_TENSORS.fullmatch(name)] if of_module and not frame.depth else []


def _is_given_first_input(frame: Frame) -> bool:
    """Whether a method of the same object was called with the first input of ``forward``, as it came."""
    if frame.called_at is None or frame.owner is None or not frame.owner.is_module:
        return False
    call, caller = frame.called_at
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
        return False
    given = call.args[0]
    if not is_name(call.func.value, "self") or not isinstance(given, ast.Name) or _is_bound_anew(caller, given.id):
        return False
    return given.id in _first_input(caller, Origin.MODEL)


def calculated_with(function: Scope, node: ast.expr, names: int = 0) -> Iterator[ast.expr]:
    """The names in ``a * x - b``, ``~(x > 0)``, ``(a * b).sum(0)``, and paths such as ``system.momenta``.

    Also ``t[:, None]``, and what a name is made of that is bound once.
    """
    parts: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
        parts = [node.left, node.comparators[0]]
    elif isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        parts = [node.func.value]
    elif not isinstance(node, ast.Call):
        yield node
        made = values_by_path(function).get(node.id, []) if isinstance(node, ast.Name) and names < _MOST_NAMES else []
        parts = made if len(made) == 1 and isinstance(made[0], (ast.BinOp, ast.Call)) else []
        names += 1
    for each in parts:
        yield from calculated_with(function, each, names)
