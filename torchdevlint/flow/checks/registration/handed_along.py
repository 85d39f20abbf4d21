"""Tensors that a Module keeps unregistered, and hands with its parameters to a function of another file (TDL101).

``interpolate(x, self.weight, self.knots)``: what works with all three takes them to be in one place. A buffer says so
as well. Lengths, sizes and
indices are often kept on the CPU for such functions.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.events import ForeignCalled, Mixed, UnknownCalled
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.scope.uses import asked_in
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT, MODEL
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import device_if_tensor
from torchdevlint.flow.state.values import Tensor, Value

_ON_THE_HOST = frozenset({"tolist", "item", "numpy", "cpu", "to", "cuda", "type_as"})
"""What is asked of a tensor that the host reads, or that is brought somewhere by hand."""

_FOR_PEOPLE = frozenset({"__repr__", "__str__", "extra_repr"})


def _note_unknown(event: UnknownCalled | ForeignCalled) -> None:
    _look(event.frame, event.state, event.node, event.arguments)


def _look(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> None:
    owner = frame.owner
    if owner is None or not owner.is_module or frame.context != "forward" or len(arguments.pairs) < 3:
        return
    own = [(at, value) for at, value in arguments.pairs if isinstance(value, Tensor) and _name_of(at)]
    there = next(((at, value) for at, value in own if value.device == MODEL), None)
    if there is None or not any(_is_input(at, value) for at, value in arguments.pairs):
        return
    for at, value in own:
        name = _name_of(at)
        if not _stays(value) or is_bookkeeping(name):
            continue
        if not _is_for_host(owner, name):
            operation = f"`{last_name(node.func)}()`"
            frame.machine.emit(Mixed(frame, state, node, operation, (at, value), there))


def _is_for_host(owner: ClassInfo, name: str) -> bool:
    """Whether a method, but for one that describes the module to people, reads the attribute by hand, or moves it."""
    methods = (each for info in owner.mro for of, each in info.methods.items() if of not in _FOR_PEOPLE)
    return any(not _ON_THE_HOST.isdisjoint(asked_in(each).get(f"self.{name}", ())) for each in methods)


def _name_of(node: ast.expr) -> str:
    """The attribute that an expression reads of `self`."""
    path = dotted_path(node) or ""
    return path[5:] if path.startswith("self.") and path.count(".") == 1 else ""


def _is_input(node: ast.expr, value: Value) -> bool:
    """Whether it comes with the arguments of `forward`."""
    place = device_if_tensor(value)
    return place == MODEL and not _name_of(node)


def _stays(value: Tensor) -> bool:
    """Whether ``__init__`` made it on the default device, with dimensions."""
    made = bool(value.creations) and all(site.where == "init" for site in value.creations)
    return made and value.device == DEFAULT and value.ndim not in (None, 0) and not value.parameter


EVENTS = {UnknownCalled: _note_unknown, ForeignCalled: _note_unknown}
