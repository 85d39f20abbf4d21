"""Tensors that a Module keeps for nothing but to say where it is: ``x.to(self.dummy.device)``.

A buffer or Parameter says that. A plain attribute stays on the CPU, and sends everything there. So does one without
dimensions, of which no other use says that it stayed: it may be combined with tensors of any device. One that is made
empty is there for nothing else, whoever reads it. A table is as well where a method makes the rest of its result there,
or brings to it what it makes on a device: ``torch.arange(n, device=device).type_as(self.table)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.registration.kept_together import leaves
from torchdevlint.flow.events import DeviceRead, Mixed
from torchdevlint.flow.facts.tensors import MARKER, TYPE_OF_KEPT
from torchdevlint.flow.kinds.bound_once import bound_once
from torchdevlint.flow.kinds.construction import is_part_of_init
from torchdevlint.flow.kinds.sizes import is_made_empty
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, is_dtype, last_name, places_in, public_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT, MODEL, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.members import writers_of
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Step, Tensor, Value
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import arguments_of, inside, keyword_of, nodes_in, once_a_node

_ASKED = frozenset({"device", "dtype"})
_MOVERS = ("to", "cuda", "_apply")


def _note_read(event: DeviceRead) -> None:
    """``self.dummy.device`` in a method, where ``__init__`` made `self.dummy` to say where things are."""
    frame, owner, node = event.frame, event.frame.owner, event.node
    path = _attribute_read(frame, node.value)
    if owner is None or not owner.is_module or not path.startswith("self.") or path.count(".") > 1:
        return
    if frame.entry.kind == "init" or _is_while_made(frame, owner) or not _stays(owner, path[5:]):
        return
    of_values = event.tensor.ndim and not (is_made_empty(event.tensor) or _only_marks(owner, path[5:]))
    if of_values and (leaves(owner, path[5:]) or not _makes_all_there(frame.function, node)):
        return
    if any(site.where != "init" for site in event.tensor.creations):
        return
    there = Tensor(MODEL, None, (), (Step("asked for here", node),))
    pair = (node.value, event.tensor), (node, there)
    frame.machine.emit(Mixed(frame, event.state, node, MARKER, *pair, False))


def _note_type(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``torch.arange(n, device=device).type_as(self.table)``: who told it a device meant the type alone.

    The rest of the method may bring its result to the device after all.
    """
    owner = frame.owner
    given = arguments.get(0, "other")
    method = frame.function
    if given is None or not isinstance(given[1], Tensor) or owner is None or not owner.is_module or method is None:
        return
    path, table, made = _attribute_read(frame, given[0]), given[1], _made_by(node)
    if frame.depth or frame.entry.kind == "init" or not path.startswith("self.") or path.count(".") > 1:
        return
    kept = table.device == DEFAULT and bool(table.creations) and all(site.where == "init" for site in table.creations)
    if made is None or not kept or not isinstance(receiver, Tensor) or on_cpu(receiver.device):
        return
    moves = (each for each in nodes_in(method, ast.Call) if each is not node)
    if _is_while_made(frame, owner) or not _stays(owner, path[5:]) or any(map(_may_move, moves)):
        return
    there = Tensor(receiver.device, None, (), (Step("made there", made),))
    frame.machine.emit(Mixed(frame, state, node, TYPE_OF_KEPT, (given[0], table), (made, there), False))


def _made_by(node: ast.expr) -> ast.Call | None:
    """The call of a function of torch that a chain of methods begins with, if it is told a device."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if public_path(node.func).startswith("torch."):
            return node if keyword_of(node, "device") is not None else None
        node = node.func.value
    return None


def _may_move(call: ast.Call) -> bool:
    """Whether it moves what it is called of, and does not only convert it."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method == "to":
        return not all(is_dtype(each) or last_name(each) == "dtype" for each in arguments_of(call))
    return method in torch_api.DEVICE_METHODS or method == "type_as"


def _makes_all_there(function: AnyFunction | None, asked: ast.Attribute) -> bool:
    """Whether a method that takes no tensors makes there what it returns: ``torch.ones(n, device=self.slopes.device)``.

    It works with what the object keeps alone, so that nothing else meets it, and gives what its caller mixes.
    """
    if not isinstance(function, ast.FunctionDef) or not any(each.value for each in nodes_in(function, ast.Return)):
        return False
    given = [each for each in nodes_in(function.args, ast.arg) if each.arg != "self"]
    if not given or any(_NUMBERS.isdisjoint(_words(each.annotation)) for each in given):
        return False
    names = [name for name, values in values_by_path(function).items() if len(values) == 1 and values[0] is asked]
    told = [place for call in nodes_in(function, ast.Call) for place in places_in(call)]
    return any(place is asked or dotted_path(place) in names for place in told)


_NUMBERS = frozenset({"int", "bool", "float"})


def _words(annotation: ast.expr | None) -> set[str]:
    return {each.id for each in inside(annotation) if isinstance(each, ast.Name)} if annotation is not None else set()


def _attribute_read(frame: Frame, node: ast.expr) -> str:
    """``self.dummy``, also where a name of the method stands for it: ``dummy = cast(Tensor, self.dummy)``."""
    bound = bound_once(frame, node) if isinstance(node, ast.Name) else node
    if isinstance(bound, ast.Call) and public_path(bound.func) == "typing.cast" and len(bound.args) > 1:
        bound = bound.args[1]
    return "" if bound is None else dotted_path(bound) or ""


def _is_while_made(frame: Frame, owner: ClassInfo) -> bool:
    name = getattr(frame.function, "name", "__init__")
    return name in ("__init__", *_MOVERS) or is_part_of_init(frame.machine, owner, name)


def _stays(owner: ClassInfo, name: str) -> bool:
    """Whether ``__init__`` alone writes the attribute, and no method moves what the class keeps."""
    writers = writers_of(owner, name)
    moved = any(mover in owner.all_methods for mover in _MOVERS)
    return not moved and len(writers) == 1 and getattr(writers[0], "name", "") == "__init__"


def _only_marks(owner: ClassInfo, name: str) -> bool:
    """Whether all that is read of the attribute is its device or dtype."""
    return all(asked in _ASKED for each in owner.mro for asked in _reads(each.node).get(name, ()))


@once_a_node
def _reads(owner: ast.ClassDef) -> dict[str, set[str]]:
    """What is asked of each attribute of `self`; an empty text where it is read as it is."""
    found: dict[str, set[str]] = {}
    inner = {id(each.value): each.attr for each in nodes_in(owner, ast.Attribute)}
    for name, read in _of_self(owner):
        found.setdefault(name, set()).add(inner.get(id(read), ""))
    return found


def _of_self(owner: ast.ClassDef) -> Iterator[tuple[str, ast.Attribute]]:
    for each in nodes_in(owner, ast.Attribute):
        if isinstance(each.ctx, ast.Load) and isinstance(each.value, ast.Name) and each.value.id == "self":
            yield each.attr, each


EVENTS = {DeviceRead: _note_read}
METHODS = {"type_as": _note_type}
