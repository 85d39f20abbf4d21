"""What a method of the same class gives to two others, one of which moves it for a model of the object (TDL310).

``x, y = self.split(graph)`` stands in `fit`, which gives ``x.to(device)`` to ``self.model``, and in `predict`, which
gives it as it came: the model is where `fit` wants it. What the method does is seen here, and it brings nothing
anywhere. A model that is brought back to the CPU, or bound anew by who uses it, may be elsewhere.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.events import FileStarted, LayerCalled, ModuleCalled, UnknownCalled
from torchdevlint.flow.kinds.loaders import moved_by
from torchdevlint.flow.kinds.managed_batches import moves_batches
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.batch_beside import scatters
from torchdevlint.flow.run.modules import may_move
from torchdevlint.flow.scope.assigned import unpacked_to, values_by_path
from torchdevlint.flow.scope.bookkeeping import is_quantity
from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, mentions_cuda, mentions_device
from torchdevlint.flow.scope.used_with_moved import is_left_alone
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import is_as_given
from torchdevlint.flow.state.values import Value
from torchdevlint.source.nodes import arguments_of, inside, nodes_in, once_a_node

_MAX_HOPS = 3
_Origin = tuple[tuple[str, int] | None, ast.Call | None]
"""A method of the same object with the place in what it gives, -1 for all of it; and the move on the way from there."""


class _Moved(NamedTuple):
    move: ast.Call
    method: str


def _begin(event: FileStarted) -> None:
    machine = event.machine
    if any(map(_moved_in, nodes_in(machine.tree, ast.ClassDef))):
        machine.observe(LayerCalled, _note_layer)
        machine.observe(ModuleCalled, _note_called)
        machine.observe(UnknownCalled, _note_called)


@once_a_node
def _moved_in(owner: ast.ClassDef) -> dict[tuple[str, str, int], _Moved]:
    """The moves for a model of the object, by the model, the method that gives what is moved, and the place in that."""
    found: dict[tuple[str, str, int], _Moved] = {}
    methods = {each.name: each for each in owner.body if isinstance(each, ast.FunctionDef)}
    for method in methods.values():
        for call in nodes_in(method, ast.Call):
            model = _attribute(call.func)
            for at in call.args if model and model not in methods else ():
                part, move = _origin(method, at, _MAX_HOPS)
                if part is None or move is None or move.lineno > call.lineno or part[0] not in methods:
                    continue
                if not _says_place(methods[part[0]]):
                    found.setdefault((model, *part), _Moved(move, method.name))
    models = {model for model, _, _ in found}
    back = {each for each in models if _is_brought_back(owner, f"self.{each}")}
    return {key: moved for key, moved in found.items() if key[0] not in back}


def _attribute(node: ast.expr) -> str:
    """`net` of ``self.net``; empty for anything else."""
    own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if own else ""  # type: ignore[attr-defined]


def _origin(function: ast.FunctionDef, node: ast.expr, hops: int) -> _Origin:
    """Where something comes from that has gone through names and one move at most."""
    moved = moved_by(node) if isinstance(node, ast.Call) else None
    if moved is not None and hops and isinstance(node, ast.Call) and not any(map(is_cpu_spec, arguments_of(node))):
        part, move = _origin(function, moved, hops - 1)
        return part, move or node
    if not isinstance(node, ast.Name):
        return _part(node, -1), None
    bound = [(value, -1) for value in values_by_path(function).get(node.id, [])]
    bound += [(value, _place(elts, node.id)) for elts, value in unpacked_to(function, node.id)]
    moves = [value for value, _ in bound if isinstance(value, ast.Call) and _name(moved_by(value)) == node.id]
    others = [(value, place) for value, place in bound if value not in moves]
    everywhere = sum(is_bound for _, is_bound, _ in bindings_in(function).get(node.id, ()))
    if len(others) != 1 or everywhere != len(bound) or not hops:
        return None, None
    if any(map(is_cpu_spec, (each for move in moves for each in arguments_of(move)))):
        return None, None
    value, place = others[0]
    part, move = _origin(function, value, hops - 1) if place < 0 else (_part(value, place), None)
    return part, move or next(iter(moves), None)


def _place(targets: list[ast.expr], name: str) -> int:
    return next(number for number, each in enumerate(targets) if _name(each) == name)


def _name(node: ast.expr | None) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _part(node: ast.expr, place: int) -> tuple[str, int] | None:
    """``self.split(graph)``, which is told no place."""
    method = _attribute(node.func) if isinstance(node, ast.Call) else ""
    return (method, place) if method and not any(map(_says_place, arguments_of(node))) else None  # type: ignore[arg-type]


def _says_place(node: ast.AST) -> bool:
    """Whether a name, an attribute or a text in it is that of a device, or it moves or asks for one."""
    for each in inside(node):
        word = each.id if isinstance(each, ast.Name) else each.attr if isinstance(each, ast.Attribute) else ""
        word = each.arg if isinstance(each, (ast.arg, ast.keyword)) and each.arg else word
        word = each.value if isinstance(each, ast.Constant) and isinstance(each.value, str) else word
        if mentions_device(word) or mentions_cuda(word) or word in torch_api.MOVE_METHODS:
            return True
    return False


def _is_brought_back(owner: ast.ClassDef, path: str) -> bool:
    """Whether a method of the class moves a model to the CPU."""
    moves = (each for each in nodes_in(owner, ast.Call) if isinstance(each.func, ast.Attribute))
    own = (each for each in moves if dotted_path(each.func.value) == path)  # type: ignore[attr-defined]
    return any(each.func.attr == "cpu" or any(map(is_cpu_spec, arguments_of(each))) for each in own)  # type: ignore[attr-defined]


def _note_layer(event: LayerCalled) -> None:
    _note(event.frame, event.state, event.node, event.operands)


def _note_called(event: ModuleCalled | UnknownCalled) -> None:
    _note(event.frame, event.state, event.node, event.arguments.pairs)


def _note(frame: Frame, state: State, node: ast.Call, given: list[tuple[ast.expr, Value]]) -> None:
    function, owner, model = frame.function, frame.owner, _attribute(node.func)
    if not model or owner is None or frame.depth or not isinstance(function, ast.FunctionDef):
        return
    moved = _moved_in(owner.node)
    if not any(each == model for each, _, _ in moved) or state.guarded or scatters(frame) or moves_batches(frame):
        return
    if f"self.{model}" in values_by_path(function) or _moves(function, model):
        return
    for at, value in given:
        part, move = _origin(function, at, _MAX_HOPS)
        there = moved.get((model, *part)) if part is not None and move is None else None
        if there is None or there.method == function.name or not isinstance(at, (ast.Name, ast.Call)):
            continue
        if isinstance(at, ast.Name) and (is_quantity(at.id) or not is_left_alone(function, at.id)):
            continue
        if all(is_as_given(each) for _, each in alternatives(value)) and not may_move(frame, node, at):
            record(frame.machine, function, "twin", at, there.move, at=at, name=_name(at), state=state)


def _moves(function: ast.FunctionDef, model: str) -> bool:
    moves = (each.func for each in nodes_in(function, ast.Call) if isinstance(each.func, ast.Attribute))
    return any(each.attr in torch_api.MOVE_METHODS and _attribute(each.value) == model for each in moves)


SAYING = (".to(", ".cuda(")
EVENTS = {FileStarted: _begin}
