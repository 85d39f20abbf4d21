"""States that a Module makes for its callers: ``init_hidden`` gives zeros of the CPU, and the parameters are elsewhere.

A recurrent layer is given the state that it starts with, and has a method that makes one. Nobody but the layer knows
where its parameters are, so that is where the method has to make it. That this is meant is said by the class, which
knows its device and makes other tensors there; by a method of the same name in another class of the file, which makes
it there; or by its name, where `forward` takes a state. A `forward` that moves each state it is given takes them from
anywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.events import Mixed, Returned
from torchdevlint.flow.facts.tensors import FIRST_STATE
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.decorators import is_property
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.scope.own_devices import brings, has_device, is_placed_by_callers, makes_there
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT, MODEL
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.tensors import is_of_sizes, is_told_device
from torchdevlint.flow.state.values import Map, Seq, Site, Step, Tensor, Value
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import assignments_in, inside, nodes_in

_STATE = regex(
    r"_?(?:(?:get|make|create|build)_)?(?:init|initial|initiali[sz]e|zero|start|begin|empty)_?"
    r"(?:h|hx|hiddens?|hidden_?states?|states?|cells?|cell_states?|carry|memory|rnn_?states?)",
)
_TAKEN = regex(r"h|hx|c|cx|state|carry|memory|.*(?:hidden|state|cell|memory|hx|h0|prev)s?|(?:prev|last)_.*|h_.*")
"""Arguments of `forward` that are states."""
_FILLED = frozenset({"zeros", "ones", "empty", "full", "rand", "randn"})
_MOST_PARTS = 6


def _note_returned(event: Returned) -> None:
    """``return torch.zeros(batch_size, self.size)``, also as parts of what is returned."""
    frame, function = event.frame, event.frame.function
    if frame.depth or frame.entry.kind != "method" or not isinstance(function, ast.FunctionDef):
        return
    owner = frame.owner
    if owner is None or not owner.is_module or is_property(function):
        return
    stayed = [each for each in _tensors(event.value) if _is_for_callers(frame, function, each)]
    if not stayed or not _is_meant_there(frame, owner, function):
        return
    place = _known_place(owner)
    if place is None or is_placed_by_callers(frame.machine.tree, function.name):
        return
    other = Tensor(MODEL, None, (), (Step("the model is where this is", place),))
    for each in stayed:
        frame.machine.emit(Mixed(frame, event.state, event.node, FIRST_STATE, (event.node, each), (place, other)))


def _tensors(value: Value) -> Iterator[Tensor]:
    """The tensors that are returned: one, or the parts of a list, tuple or dict that is written out."""
    held: tuple[Value, ...] = (value,)
    if isinstance(value, Seq):
        held = value.items if value.items is not None else (value.element, *value.members)
    elif isinstance(value, Map):
        held = tuple(each for _, each in value.items)
    for part in held[:_MOST_PARTS]:
        yield from (each for _, each in alternatives(part) if isinstance(each, Tensor))


def _is_for_callers(frame: Frame, function: ast.FunctionDef, value: Tensor) -> bool:
    """Whether a tensor of the CPU was made here of nothing but sizes, one of which the caller gives."""
    return (
        value.device == DEFAULT
        and bool(value.ndim)
        and bool(value.creations)
        and all(_is_made_for(frame, function, site) for site in value.creations)
    )


def _is_made_for(frame: Frame, function: ast.FunctionDef, site: Site) -> bool:
    node = site.node
    if site.scope != frame.scope or site.drawn or is_told_device(site) or not is_of_sizes(site):
        return False
    if not isinstance(node, ast.Call) or site.function.rpartition(".")[2] not in _FILLED:
        return False
    given = set(parameter_names(function)) - {"self"}
    return any(isinstance(each, ast.Name) and each.id in given for part in node.args for each in inside(part))


def _is_meant_there(frame: Frame, owner: ClassInfo, function: ast.FunctionDef) -> bool:
    """Whether what the method makes is meant for the place of the parameters."""
    forward = owner.all_methods.get("forward")
    if forward is None or is_bookkeeping(function.name):
        return False
    states = list(filter(_TAKEN.fullmatch, parameter_names(forward[1])))
    if states and all(brings(forward[1], each) for each in states):
        return False
    if states and _STATE.fullmatch(function.name):
        return True
    others = [each for each in nodes_in(frame.machine.tree, ast.FunctionDef) if each.name == function.name]
    if any(each is not function and makes_there(each) for each in others):
        return True
    own = [method for info in owner.mro for method in info.methods.values() if method is not function]
    return any(has_device(info.node) for info in owner.mro) and any(map(makes_there, own))


def _known_place(owner: ClassInfo) -> ast.expr | None:
    """An expression of the class for one of its parameters or layers, or for its device."""
    for info in owner.mro:
        for call in assignments_in(info.node):
            target = call.targets[0]
            made = info.public_name(call.value.func) if isinstance(call.value, ast.Call) else None
            if (dotted_path(target) or "").startswith("self.") and (made or "").startswith("torch.nn."):
                return target
        for each in nodes_in(info.node, ast.Attribute):
            if each.attr == "device" and isinstance(each.ctx, ast.Load):
                return each
    return None


EVENTS = {Returned: _note_returned}
