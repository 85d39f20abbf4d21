"""Fields of one record, of which a function moves others, or the same one in another case (TDL310).

``return Batch(x=x, y=y.to(device))``, where `x` and `y` are parts of one thing and the class says that `x` is a tensor;
and ``return Batch(x=batch)`` beside ``return Batch(x=batch[0].to(device))``: who gets the record cannot tell.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.forgotten.left_behind import moves_any, record
from torchdevlint.flow.checks.forgotten.left_in_one_case import is_of_places
from torchdevlint.flow.checks.forgotten.left_of_unpacked import taken_apart
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.kinds.loaders import moved_by
from torchdevlint.flow.scope.annotations import annotated_tensor, without_none
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, last_name, mentions_device
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, nodes_in, own_nodes_in

Fields = dict[str, dict[str, bool]]


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not moves_any(machine):
        return
    fields = _fields(machine.tree)
    for function in functions_that_place(machine.tree) if fields else ():
        for left, move in (*_beside_parts(function, fields), *_in_other_cases(function, fields)):
            record(machine, function, "beside", left, move, at=left)


def _fields(tree: ast.Module) -> Fields:
    """The annotated fields of classes without a constructor of their own, and whether each is said to be a tensor."""
    found: Fields = {}
    for owner in nodes_in(tree, ast.ClassDef):
        own = [each for each in owner.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]
        if own and not any(isinstance(each, ast.FunctionDef) and each.name == "__init__" for each in owner.body):
            found[owner.name] = {_name(each): annotated_tensor(without_none(each.annotation)) for each in own}
    return found


def _name(field: ast.AnnAssign) -> str:
    assert isinstance(field.target, ast.Name)
    return field.target.id


def _given(call: ast.Call, fields: Fields) -> Iterator[tuple[str, ast.expr]]:
    """What a record is made of, by the fields that are said to be tensors."""
    said = fields.get(dotted_path(call.func) or "", {})
    named = zip(said, call.args, strict=False) if not any(isinstance(each, ast.Starred) for each in call.args) else ()
    for name, value in (*named, *((each.arg or "", each.value) for each in call.keywords)):
        if said.get(name) and not is_bookkeeping(name):
            yield name, value


def _beside_parts(function: FunctionNode, fields: Fields) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The only field that is given a part of something as it came, where the others are given moved parts of that."""
    parts = [{each.id for each in target.elts if isinstance(each, ast.Name)} for target, _ in taken_apart(function)]
    for call in _returned(function) if parts else ():
        given = [value for _, value in _given(call, fields)]
        left = [each for each in given if isinstance(each, ast.Name) and not _is_moved(function, each.id)]
        moved = [each for each in given if _moved_name(each)]
        if len(left) != 1 or len(left) + len(moved) != len(given):
            continue
        together = [each for each in moved if any({_moved_name(each), left[0].id} <= names for names in parts)]
        if together:
            yield left[0], together[0]


def _returned(function: FunctionNode) -> list[ast.Call]:
    """The calls whose results a function returns at once, or yields: nothing there moves more of them."""
    given: list[ast.Return | ast.Yield] = [*own_nodes_in(function, ast.Return), *own_nodes_in(function, ast.Yield)]
    return [each.value for each in given if isinstance(each.value, ast.Call)]


def _in_other_cases(function: FunctionNode, fields: Fields) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a field is given as it came in one return, where another return gives it something moved."""
    if any(is_of_places([each.test]) for each in own_nodes_in(function, ast.If)):
        return
    shown = _returned(function)
    moves = {
        (dotted_path(call.func), name): value
        for call in shown
        for name, value in _given(call, fields)
        if _moved_name(value)
    }
    for call in shown if moves else ():
        for name, value in _given(call, fields):
            move = moves.get((dotted_path(call.func), name))
            if move is not None and isinstance(value, ast.Name) and not _is_moved(function, value.id):
                yield value, move


def _moved_name(value: ast.expr) -> str:
    """`x` of ``x.to(device)``; empty for the CPU and the place of another tensor."""
    moved = moved_by(value) if isinstance(value, ast.Call) else None
    if not isinstance(value, ast.Call) or not isinstance(moved, ast.Name):
        return ""
    told = [last_name(each) for each in arguments_of(value) if not is_cpu_spec(each)]
    return moved.id if not arguments_of(value) or any(map(mentions_device, told)) else ""


def _is_moved(function: FunctionNode, name: str) -> bool:
    """Whether a name is bound to what was moved, or to anything else that is made there."""
    return any(isinstance(each, ast.Call) for each in values_by_path(function).get(name, ()))


SAYING = (".to(", ".cuda(")
EVENTS = {FileEnded: _note_end}
