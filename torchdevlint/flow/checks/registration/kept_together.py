"""Tensors that an object keeps together: ``__init__`` puts some on a device, and forgets one of the same kind.

A replay buffer makes observations, actions and rewards in one way, two of them on a device. A table is drawn on a
device, and overwritten under a flag by zeros of the CPU. What is not meant to go along is made in another way, moved by
a method, or read by the host.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from torchdevlint.flow.events import FunctionEnded, Mixed
from torchdevlint.flow.facts.tensors import KEPT
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.names import dotted_path, is_dtype, last_name
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.conditions import parted_by_switch
from torchdevlint.flow.state.devices import DEFAULT, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.tensors import is_created, is_of_sizes
from torchdevlint.flow.state.values import Tensor, Value
from torchdevlint.source.nodes import nodes_in, once_a_node

_LEAST_PLACED = 2
_LEAVES = torch_api.MOVE_METHODS | {"numpy", "tolist", "item", "pin_memory", "type_as", "data_ptr"}
_MOVERS = frozenset({"to", "cuda", "_apply", "to_device", "move_to"})


def _note_end(event: FunctionEnded) -> None:
    frame, owner = event.frame, event.frame.owner
    if frame.depth or owner is None or getattr(frame.function, "name", "") != "__init__" or not event.end.alive:
        return
    kept = {
        path.removeprefix("self."): value
        for path, value in event.end.paths.items()
        if path.startswith("self.") and path.count(".") == 1 and "[" not in path
    }
    placed = {name: each for name, value in kept.items() if (each := _placed(value)) is not None}
    for name, value in kept.items():
        if not placed or is_bookkeeping(name) or _is_switched(value):
            continue
        for stayed in _stayed(frame, value):
            twin = placed[name] if name in placed else _of_one_way(stayed, placed)
            own = name in placed or not (owner.is_module or _MOVERS.intersection(owner.methods))
            if twin is not None and own and not leaves(owner, name):
                _record(frame, event, stayed, name, twin)


def _record(frame: Frame, event: FunctionEnded, stayed: Tensor, name: str, twin: Tensor) -> None:
    made, beside = stayed.creations[0].node, twin.steps[0].node
    if isinstance(made, ast.expr) and isinstance(beside, ast.expr):
        frame.machine.emit(Mixed(frame, event.state, made, KEPT, (made, stayed), (beside, twin)))


def _placed(value: Value) -> Tensor | None:
    """A tensor that a factory made on a device that the code names, also in one of two arms."""
    found = (each for _, each in alternatives(value) if isinstance(each, Tensor) and is_created(each))
    return next((each for each in found if _is_named(each)), None)


def _is_switched(value: Value) -> bool:
    """Whether a device that is given, or the use of an accelerator, decides which one of several it is."""
    held = [conditions for conditions, _ in alternatives(value)]
    return any(parted_by_switch(one, other) for one, other in combinations(held, 2))


def _is_named(value: Tensor) -> bool:
    return value.device.origin in (Origin.EXPRESSION, Origin.LITERAL) and not on_cpu(value.device)


def _stayed(frame: Frame, value: Value) -> Iterator[Tensor]:
    """Tensors with dimensions that factories made here of sizes alone, on the default device."""
    for _, each in alternatives(value):
        if isinstance(each, Tensor) and each.device == DEFAULT and each.ndim and each.creations and not each.parameter:
            here = all(one.scope == frame.scope and not one.drawn for one in each.creations)
            if here and all(map(is_of_sizes, each.creations)):
                yield each


def _of_one_way(stayed: Tensor, placed: dict[str, Tensor]) -> Tensor | None:
    """One of several tensors that were made as this one was, all on one device."""
    ways = {site.function for site in stayed.creations}
    alike = [each for each in placed.values() if ways == {each.steps[0].made_by}]
    return alike[0] if len(alike) >= _LEAST_PLACED and len({each.device for each in alike}) == 1 else None


def leaves(owner: ClassInfo, name: str) -> bool:
    """Whether the class moves the attribute, or what it takes of it, or reads it on the host."""
    return any(name in _moved_or_read(each.node) for each in owner.mro)


@once_a_node
def _moved_or_read(owner: ast.ClassDef) -> frozenset[str]:
    """The attributes of `self` in whose expressions something is moved or read: ``self.rewards[i].to(device)``.

    A method that pins the whole object gets it ready for a move, and so is no reason to stay.
    """
    found = set()
    pins = [each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == "pin_memory"]
    pinned = {id(call) for each in pins for call in nodes_in(each, ast.Call)}
    for call in nodes_in(owner, ast.Call):
        if id(call) in pinned or _converts(call):
            continue
        if isinstance(call.func, ast.Attribute) and call.func.attr in _LEAVES:
            node: ast.expr = call.func.value
            while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
                path = dotted_path(node)
                if path is not None and path.startswith("self."):
                    found.add(path.split(".")[1])
                    break
                node = node.func if isinstance(node, ast.Call) else node.value
    return frozenset(found)


def _converts(call: ast.Call) -> bool:
    """``x.to(torch.float32)``, ``x.to(y.dtype)``, ``x.to(dtype=dtype)``: nothing is moved."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "to" or not (call.args or call.keywords):
        return False
    given = [*((each, None) for each in call.args), *((each.value, each.arg) for each in call.keywords)]
    return all(name == "dtype" or is_dtype(each) or last_name(each) == "dtype" for each, name in given)


EVENTS = {FunctionEnded: _note_end}
