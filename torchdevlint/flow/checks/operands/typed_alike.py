"""Tensors of the default device that have the dtype of another tensor, and leave the function, or go to a call with it.

``torch.linspace(0, 1, n, dtype=x.dtype)`` is made to go with `x`, wherever that is. Only a tensor has a dtype that a
factory of torch takes, so `x` is one, whatever else is known of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from torchdevlint.flow.checks.operands.handed_on_together import is_told_device_too, keeps_as_given, parts_of
from torchdevlint.flow.checks.operands.sized_alike import is_for_the_cpu, may_be_anywhere
from torchdevlint.flow.events import Constructed, ForeignCalled, FunctionCalled, Mixed, Returned, UnknownCalled
from torchdevlint.flow.facts.tensors import TYPED_ALIKE
from torchdevlint.flow.kinds.sizes import is_one_element
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, Device, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.records import is_held_together
from torchdevlint.flow.state.tensors import is_told_device
from torchdevlint.flow.state.values import AT_LEAST_1, Site, Step, Tensor, Value
from torchdevlint.source.nodes import nodes_in, once_a_node


def _note_returned(event: Returned) -> None:
    """``return torch.linspace(0, 1, n, dtype=x.dtype), x``: what is returned alone may be a table for the host."""
    if not is_held_together(event.value):
        return
    frame = event.frame
    if not _is_of_the_entry(frame, event.state):
        return
    parts = list(parts_of(event.node, event.value))
    if any(not on_cpu(value.device) for _, value in parts):
        for at, value in parts:
            _look(frame, event.state, event.node, TYPED_ALIKE, at, value)


def _note_constructed(event: Constructed) -> None:
    if _is_of_the_entry(event.frame, event.state) and keeps_as_given(event):
        _note_arguments(event.frame, event.state, event.node, event.arguments)


def _note_function(event: FunctionCalled) -> None:
    """A function of the project that neither moves anything nor asks for a place takes all as they come."""
    if not _is_of_the_entry(event.frame, event.state) or not any(map(_is_made, event.arguments.all_values)):
        return
    if _speaks_of_places(event.function.node):
        return
    if not is_for_the_cpu(event.node):
        _note_arguments(event.frame, event.state, event.node, event.arguments)


def _note_call(event: UnknownCalled | ForeignCalled) -> None:
    if _is_of_the_entry(event.frame, event.state) and not is_for_the_cpu(event.node):
        _note_arguments(event.frame, event.state, event.node, event.arguments)


def _is_of_the_entry(frame: Frame, state: State) -> bool:
    """Whether it happens in the very function that was entered, and no ``__init__``, whatever it is given."""
    return not frame.depth and not state.guarded and frame.entry.kind != "init"


def _note_arguments(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> None:
    made = [(at, value) for at, value in arguments.pairs if _is_made(value)]
    if not made or len(arguments.pairs) < 2 or is_told_device_too(arguments):
        return
    operation = f"`{frame.machine.text_of(node.func)}()`"
    names = {at: name for name, (at, _) in arguments.keywords.items()}
    for at, value in made:
        if not is_bookkeeping(names.get(at)):
            _look(frame, state, node, operation, at, value)


_OF_PLACES = frozenset({"to", "device", "cpu", "numpy", "tolist", "item", "type_as", *torch_api.DEVICE_METHODS})


@once_a_node
def _speaks_of_places(function: ast.AST) -> bool:
    """Whether a function speaks of a place, in whatever words."""
    words = {each.attr for each in nodes_in(function, ast.Attribute)}
    words.update(each.arg for each in nodes_in(function, ast.arg))
    return not words.isdisjoint(_OF_PLACES)


def _look(frame: Frame, state: State, node: ast.AST, operation: str, at: ast.expr, value: Value) -> None:
    function = frame.function
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    if not _is_made(value) or is_one_element(value) or is_bookkeeping(dotted_path(at)):
        return
    places = [_typed_after(site) for site in value.creations if site.scope == frame.scope and not is_told_device(site)]
    first = places[0] if len(places) == len(value.creations) else None
    if first is None or None in places or not _may_be_elsewhere(frame, state, first):
        return
    name = frame.machine.text_of(first)
    step = Step(f"`{name}` is asked for its dtype, so that both go together", first)
    other = Tensor(Device(Origin.ARGUMENT, name), AT_LEAST_1, (), (step,))
    frame.machine.emit(Mixed(frame, state, node, operation, (at, value), (first, other)))


def _is_made(value: Value) -> TypeGuard[Tensor]:
    """Whether it is a tensor with dimensions that factories made without a device."""
    return type(value) is Tensor and bool(value.ndim) and bool(value.creations) and value.device == DEFAULT


def _typed_after(site: Site) -> ast.expr | None:
    """`x` in ``torch.zeros(3, dtype=x.dtype)``."""
    for each in site.node.keywords if isinstance(site.node, ast.Call) else ():
        if each.arg == "dtype" and isinstance(each.value, ast.Attribute) and each.value.attr == "dtype":
            return each.value.value if dotted_path(each.value.value) is not None else None
    return None


def _may_be_elsewhere(frame: Frame, state: State, asked: ast.expr) -> bool:
    """Whether nothing says that what is asked for its dtype is on the CPU, or is meant to be."""
    path = dotted_path(asked) or ""
    held: Iterator[Value] = (each for _, each in alternatives(frame.evaluate(asked, state), state.conditions))
    if any(isinstance(each, Tensor) and on_cpu(each.device) for each in held):
        return False
    return may_be_anywhere(frame, path.rpartition(".")[2])


EVENTS = {
    Returned: _note_returned,
    Constructed: _note_constructed,
    FunctionCalled: _note_function,
    UnknownCalled: _note_call,
    ForeignCalled: _note_call,
}
