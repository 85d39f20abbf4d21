"""One of two attributes that a method makes of data of the host in one way, of which it places the other one (TDL310).

``self.users = torch.tensor(users.toarray(), device=device)`` beside ``self.items = torch.tensor(items.toarray())``: an
object that is told a device gives both away together. They are twins if the same is done with both before, or they are
called alike, ``user_features`` and ``item_features``, or if there are several others. What is moved or read on the host
elsewhere stays for a reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.left_in_one_case import says_place
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.leaving_attributes import leaves
from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, is_dtype, last_name, mentions_device, public_path
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.plain_moves import is_plain_move
from torchdevlint.flow.scope.two_arms import is_chosen_between
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, keyword_of, nodes_in, own_assignments_in

_OF_DATA = frozenset({"torch.tensor", "torch.from_numpy", "torch.as_tensor", "torch.asarray", "torch.FloatTensor"})
_LEAST_UNLIKE = 2
"""How many others there have to be where none is called like the one that stays."""
_PART = regex(r"[a-z]+|[A-Z]+[a-z]*|\d+")


class _Made(NamedTuple):
    """An attribute that is made of data: its `form` says how, but for names and the `place`, a text."""

    name: str
    data: str
    node: ast.expr
    form: str
    place: str
    is_worked_out: bool


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not imports_torch(machine.tree):
        return
    for function in functions_that_place(machine.tree):
        for left, beside in _left(function):
            if not leaves(machine.tree, left.name) and not _moves_whole(function):
                record(machine, function, "beside", left.node, beside.node, at=left.node, name=f"self.{left.name}")


def _left(function: FunctionNode) -> Iterator[tuple[_Made, _Made]]:
    """The only one of its form that has no place, and one that has."""
    forms: dict[str, list[_Made]] = {}
    for each in _made_in(function):
        forms.setdefault(each.form, []).append(each)
    for group in forms.values():
        left = [each for each in group if not each.place]
        placed = [each for each in group if each.place]
        if len(left) != 1 or len({each.place for each in placed}) != 1:
            continue
        one = left[0]
        twins = [each for each in placed if _are_twins(one, each)]
        beside = twins[0] if twins else placed[0]
        if (not twins and len(placed) < _LEAST_UNLIKE) or is_chosen_between(function, one.node, beside.node):
            continue
        kept = any(map(is_bookkeeping, (one.name, one.data)))
        if not kept or any(is_bookkeeping(each.name) or is_bookkeeping(each.data) for each in placed):
            yield one, beside


def _made_in(function: FunctionNode) -> Iterator[_Made]:
    for each in own_assignments_in(function):
        path = dotted_path(each.targets[0]) or ""
        if path.startswith("self.") and path.count(".") == 1 and isinstance(each.value, ast.Call):
            made = _made(path.removeprefix("self."), each.value)
            if made is not None:
                yield made


def _made(name: str, node: ast.Call) -> _Made | None:
    """``torch.tensor(data, dtype=..)`` with moves and conversions behind it."""
    call, place, form = node, "", ""
    while public_path(call.func) not in _OF_DATA:
        if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Call):
            return None
        if is_plain_move(call):
            place = ast.unparse(call).removeprefix(ast.unparse(call.func.value))
        elif call.func.attr in torch_api.DTYPE_METHODS or (call.func.attr == "to" and _converts(call)):
            form += f".{call.func.attr}({', '.join(map(ast.unparse, arguments_of(call)))})"
        else:
            return None
        call = call.func.value
    told = keyword_of(call, "device")
    if told is not None:
        if is_cpu_spec(told) or not mentions_device(last_name(told)):
            return None
        place = ast.unparse(told)
    leaf = _leaf(call.args[0]) if len(call.args) == 1 else None
    if leaf is None:
        return None
    others = ", ".join(ast.unparse(each) for each in call.keywords if each.arg != "device")
    way = ast.unparse(call.args[0]).replace(ast.unparse(leaf), "_", 1)
    form += f" {public_path(call.func)}({way}, {others})"
    return _Made(name, _name_of(leaf), node, form, place, "(" in way)


def _converts(call: ast.Call) -> bool:
    return all(is_dtype(each) or last_name(each) == "dtype" for each in arguments_of(call))


def _leaf(data: ast.expr) -> ast.expr | None:
    """What data is made of: `users` of ``users.toarray()`` and of ``np.array(users)``, ``rows["a"]``."""
    while True:
        if isinstance(data, ast.Call):
            by_method = isinstance(data.func, ast.Attribute) and not public_path(data.func).startswith("numpy.")
            if not by_method and not data.args:
                return None
            data = data.func.value if by_method else data.args[0]  # type: ignore[attr-defined]
        elif isinstance(data, ast.Attribute) and data.attr in _PARTS:
            data = data.value
        elif isinstance(data, (ast.Name, ast.Attribute)):
            return data if dotted_path(data) is not None else None
        elif isinstance(data, ast.Subscript):
            if isinstance(data.slice, ast.Constant):
                return data
            data = data.value
        else:
            return None


_PARTS = frozenset({"values", "T", "A", "data"})


def _name_of(leaf: ast.expr) -> str:
    """The name of a place, or the key of an entry."""
    if isinstance(leaf, ast.Subscript):
        return str(leaf.slice.value) if isinstance(leaf.slice, ast.Constant) else ""
    return last_name(leaf)


def _are_twins(one: _Made, other: _Made) -> bool:
    """Whether one of two that have a form tells what the other one is."""
    return one.is_worked_out or _is_called_alike(one.name, other.name) or _is_called_alike(one.data, other.data)


def _is_called_alike(one: str, other: str) -> bool:
    """Whether two names differ in one of several words, or in a number: ``f0`` and ``f1``."""
    mine, theirs = (_PART.findall(each) for each in (one, other))
    return len(mine) == len(theirs) > 1 and sum(a != b for a, b in zip(mine, theirs, strict=True)) == 1


def _moves_whole(function: FunctionNode) -> bool:
    """Whether a method goes through all that the object keeps, or gives the object to who is told a place."""
    for call in nodes_in(function, ast.Call):
        method = call.func if isinstance(call.func, ast.Attribute) else None
        moves = method is not None and _is_self(method.value) and method.attr in torch_api.MOVE_METHODS
        given = says_place(call) and any(map(_is_self, arguments_of(call)))
        if moves or given or last_name(call.func) in ("vars", "setattr"):
            return True
    return any(each.attr == "__dict__" for each in nodes_in(function, ast.Attribute))


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


SAYING = ("torch.tensor(", "from_numpy(", "as_tensor(", "asarray(", "FloatTensor(")
EVENTS = {FileEnded: _note_end}
