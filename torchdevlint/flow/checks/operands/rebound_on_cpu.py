"""Attributes that ``__init__`` puts on a device, and another method binds anew to what is on the CPU (TDL003, TDL004).

``self.h = torch.zeros(n).to(device)`` in ``__init__``, and ``self.h = torch.zeros(n)`` in `reset`: what reads it beside
something on a device works until somebody resets the object. A class that moves the attribute anywhere, or that has a
method for moving its objects, knows that it may be on the CPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from torchdevlint.flow.checks.registration.kept_together import leaves
from torchdevlint.flow.events import FileStarted, FunctionEnded, Mixed, Operated
from torchdevlint.flow.kinds.construction import is_part_of_init
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.made_of_own import is_of_self, made_of_own
from torchdevlint.flow.scope.names import dotted_path, mentions_cuda, mentions_device
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT, MODEL, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.members import writers_of, writes_unseen
from torchdevlint.flow.state.tensors import is_created
from torchdevlint.flow.state.values import Tensor, Value
from torchdevlint.source.nodes import Assignment, assignments_in, inside, nodes_in, once_a_node

_MOVERS = frozenset({"to", "cuda", "cpu", "_apply", "to_device", "move_to"})


class _Memory:
    """What the methods of a file leave in attributes that ``__init__`` puts on a device and another method does not."""

    def __init__(self) -> None:
        self.left: dict[ast.AST, dict[str, Value]] = {}


def _begin(event: FileStarted) -> None:
    if any(_rebound_in(each) for each in nodes_in(event.machine.tree, ast.ClassDef)):
        event.machine.observe(FunctionEnded, _note_end)
        event.machine.observe(Operated, _note_operands)


@once_a_node
def _rebound_in(owner: ast.ClassDef) -> frozenset[str]:
    """The attributes that ``__init__`` writes with a word for a place, and another method without one."""
    methods = [each for each in owner.body if isinstance(each, ast.FunctionDef)]
    placing = [each for each in methods if each.name == "__init__" and _names_place(each)]
    first = {name for each in placing for name, at in _written_in(each) if _says_place(at)}
    later = (pair for each in methods if first and each.name != "__init__" for pair in _written_in(each))
    return frozenset(name for name, at in later if name in first and not _says_place(at))


def _written_in(method: ast.FunctionDef) -> Iterator[tuple[str, Assignment]]:
    """The attributes of ``self`` that are assigned what a call gives."""
    for each in assignments_in(method):
        path = dotted_path(each.targets[0]) if isinstance(each.value, ast.Call) else None
        if path is not None and path.startswith("self."):
            yield path.removeprefix("self."), each


def _names_place(method: ast.FunctionDef) -> bool:
    """Whether anything in it has a name for a place or a move."""
    names = {each.attr for each in nodes_in(method, ast.Attribute)}
    return any(map(_is_of_places, names.union(each.arg or "" for each in nodes_in(method, ast.keyword))))


def _says_place(assignment: Assignment) -> bool:
    words = [each for each in inside(assignment.value) if isinstance(each, (ast.Attribute, ast.keyword))]
    return any(_is_of_places(each.attr if isinstance(each, ast.Attribute) else each.arg or "") for each in words)


@lru_cache(maxsize=4096)
def _is_of_places(name: str) -> bool:
    return name in torch_api.MOVE_METHODS or mentions_device(name) or mentions_cuda(name)


def _note_end(event: FunctionEnded) -> None:
    frame, owner = event.frame, event.frame.owner
    names = _rebound_in(owner.node) if owner is not None and not frame.depth else ()
    if names and frame.function is not None and event.end.alive:
        held = {name: event.end.paths.get(f"self.{name}") for name in names}
        left = frame.machine.memory(_Memory).left
        left[frame.function] = {name: value for name, value in held.items() if value is not None}


def _note_operands(event: Operated) -> None:
    """``self.rnn(x, self.h)``, and ``self.h + x``, of what the method has not bound itself."""
    frame, owner = event.frame, event.frame.owner
    names = _rebound_in(owner.node) if owner is not None and not frame.depth else frozenset()
    if not names or owner is None or len(event.operands) < 2 or frame.machine.muted:
        return
    for at, _ in event.operands:
        own = list(made_of_own(_as_bound(frame, at)))
        read = next((each for each in own if each in names and f"self.{each}" not in event.state.paths), None)
        others = [each for each in event.operands if each[0] is not at and _is_elsewhere(each[1])]
        if read is None or len(own) > 1 or not others or not _stays_for_no_reason(frame, owner, read):
            continue
        for stayed in _stayed(frame, owner, read):
            pair = (at, stayed), others[0]
            frame.machine.emit(Mixed(frame, event.state, event.node, event.operation, *pair))  # type: ignore[arg-type]


def _as_bound(frame: Frame, node: ast.expr) -> ast.expr:
    """What a name stands for that a method binds once: ``h = self.h``."""
    bound = values_by_path(frame.function).get(node.id, ()) if isinstance(node, ast.Name) and frame.function else ()
    return bound[0] if len(bound) == 1 else node


def _is_elsewhere(value: Value) -> bool:
    """Whether it is on a device that the code names, or where the model is."""
    if not isinstance(value, Tensor) or on_cpu(value.device):
        return False
    return value.device == MODEL or value.device.origin in (Origin.EXPRESSION, Origin.LITERAL)


def _stays_for_no_reason(frame: Frame, owner: ClassInfo, name: str) -> bool:
    """Whether nobody moves the object or the attribute, or writes it from outside."""
    if _MOVERS.intersection(owner.all_methods) or leaves(owner, name) or owner.assigns_by_name(name):
        return False
    if any(writes_unseen(each.node) for each in owner.mro):
        return False
    stores = (each for each in nodes_in(frame.machine.tree, ast.Attribute) if isinstance(each.ctx, ast.Store))
    return not any(each.attr == name and not is_of_self(each) for each in stores)


def _stayed(frame: Frame, owner: ClassInfo, name: str) -> list[Tensor]:
    """The tensors of the CPU that methods leave in an attribute which ``__init__`` leaves on a device in any case."""
    left, found = frame.machine.memory(_Memory).left, list[Tensor]()
    for method in writers_of(owner, name):
        own = getattr(method, "name", "__init__")
        held = [each for _, each in alternatives(left[method][name])] if name in left.get(method, {}) else []
        if own == "__init__":
            if not held or not all(map(_is_put_elsewhere, held)):
                return []
        elif not is_part_of_init(frame.machine, owner, own):
            found += [each for each in held if isinstance(each, Tensor) and _is_on_cpu(each)]
    return found


def _is_put_elsewhere(value: Value) -> bool:
    """Whether a factory made it, and the code put it on a device; a buffer goes where its Module goes."""
    return isinstance(value, Tensor) and is_created(value) and value.device != MODEL and _is_elsewhere(value)


def _is_on_cpu(value: Tensor) -> bool:
    """Whether a factory made it with dimensions, and was told no place."""
    return value.device == DEFAULT and bool(value.ndim) and bool(value.creations) and not value.parameter


SAYING = ("cpu", "cuda", "device", ".to(")
EVENTS = {FileStarted: _begin}
