"""One of two things that a function comes by in the very same way, of which it moves the other one (TDL310).

``low, high = torch.as_tensor(a), torch.as_tensor(b)`` and ``return low, high.to(device)``: who gets both cannot tell.
So it is with ``return low, high.to(device)`` beside a return that moves both, with what is under one key of two tables
of an object, with one slice of two tensors, with two attributes of all items, ``torch.stack([each.x for each in xs])``
and with ``x_device = x`` beside ``y_device = y.to(device)``. What the host reads, and what another line moves, stays
for a reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.left_in_one_case import is_of_places
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.brought_reads import takes_tensor
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, mentions_device, parameter_names, public_path, stem_of
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.plain_moves import is_plain_move, moved_by, names_moved, place_of
from torchdevlint.flow.scope.used_with_moved import is_used_with
from torchdevlint.flow.scope.uses import uses_in
from torchdevlint.flow.state.machine import Machine
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import (
    assignment_of,
    assignments_in,
    inside,
    is_inside,
    is_name,
    nodes_in,
    own_assignments_in,
    own_blocks_in,
    own_nodes_in,
)

_FAR = 2
_TENSOR_ONLY = torch_api.TENSOR_ONLY_METHODS | {"clone", "cpu"}


def look(machine: Machine) -> None:
    """Record what is left so in a file that moves something."""
    for function in functions_that_place(machine.tree):
        for left, move, name in (*_returned(function), *_neighbours(machine.tree, function)):
            record(machine, function, "beside", left, move, at=left, name=name)


def _returned(function: FunctionNode) -> Iterator[tuple[ast.expr, ast.expr, str]]:
    """`low` of ``return low, high.to(device)``."""
    shown = [each for each in own_nodes_in(function, ast.Return) if isinstance(each.value, ast.Tuple)]
    for each in shown:
        parts = each.value.elts  # type: ignore[union-attr]
        moves = [moved_by(one) for one in parts]
        moved = [one for one in moves if one is not None]
        left = [one for one, move in zip(parts, moves, strict=True) if move is None]
        if len(left) != 1 or not moved or len({place_of(one) for one in moved}) != 1:
            continue
        name, others = left[0], [stem_of(one) for one in parts if one is not left[0]]
        if not isinstance(name, ast.Name) or is_named_like_a_model(name) or _is_placed(function, name.id, moved[0]):
            continue
        twin = any(isinstance(one, ast.Name) and _are_twins(function, name.id, one.id) for one in others)
        made = len(moved) > 1 and not is_bookkeeping(name.id) and _is_made(function, name.id)
        if twin or made or _moves_all(shown, each, place_of(moved[0])):
            yield name, moved[0], name.id


def _is_placed(function: FunctionNode, name: str, move: ast.Call) -> bool:
    """Whether what a name holds is put somewhere in one case, or says itself where the other one goes."""
    if any(isinstance(each, ast.Name) and each.id == name for each in inside(move.args[0] if move.args else move)):
        return True
    if is_of_places([each.test for each in own_nodes_in(function, ast.If) if is_inside(move, each)]):
        return True
    moved = names_moved(function).get(name)
    return moved is not None or any(_says_place(each) for each in _bound_to(function, name))


def _is_made(function: FunctionNode, name: str) -> bool:
    """Whether the function binds the name once, to what a function of torch makes of sizes or of data."""
    bound = [_first_call(each) for each in _bound_to(function, name)]
    paths = [public_path(each.func).rpartition(".") for each in bound if each is not None]
    return len(paths) == len(bound) == 1 and paths[0][0] == "torch" and paths[0][2] in _MAKERS


_MAKERS = torch_api.SIZE_FACTORIES | {"full", "arange", "from_numpy", "stack", "cat"}


def _says_place(node: ast.expr) -> bool:
    names = (each.id if isinstance(each, ast.Name) else each.attr for each in inside(node) if isinstance(each, _NAMED))
    return any(map(mentions_device, names)) or any(map(is_plain_move, inside(node)))


_NAMED = (ast.Name, ast.Attribute)


def _moves_all(shown: Sequence[ast.Return], own: ast.Return, place: str) -> bool:
    """Whether another return of as many parts moves all of them to the same place."""
    size = len(own.value.elts)  # type: ignore[union-attr]
    for each in shown:
        parts = each.value.elts  # type: ignore[union-attr]
        moves = [moved_by(one) for one in parts] if each is not own and len(parts) == size else []
        if moves and all(move is not None and place_of(move) == place for move in moves):
            return True
    return False


def _bound_to(function: FunctionNode, name: str) -> list[ast.expr]:
    """What a function binds a name to: a part of a tuple that is bound to one; all of what is taken apart."""
    bound = [(target, each.value) for each in own_assignments_in(function) for target in each.targets]
    return [value for to, whole in bound for one, value in _pairs(to, whole) if is_name(one, name)]


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        yield from zip(target.elts, value.elts, strict=True)
    elif isinstance(target, ast.Tuple):
        yield from ((each, value) for each in target.elts)
    else:
        yield target, value


def _are_twins(function: FunctionNode, one: str, other: str) -> bool:
    """Whether two names are bound by the same calls of different things, as often as each other."""
    first, second = _bound_to(function, one), _bound_to(function, other)
    if not first or {id(each) for each in first} & {id(each) for each in second}:
        return False
    own = {each.id for each in nodes_in(function, ast.Name) if isinstance(each.ctx, ast.Store)}
    own |= parameter_names(function)
    forms = [[_form(each, own) for each in values] for values in (first, second)]
    return forms[0] == forms[1] and all("(" in each for each in forms[0])


def _form(node: ast.expr, own: set[str]) -> str:
    """The text of an expression, without the names that are the function's own and without moves."""
    text, names = ast.unparse(node), {each.id for each in inside(node) if isinstance(each, ast.Name)} & own
    return re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda word: "_" if word[0] in names else word[0], text)


def _neighbours(tree: ast.Module, function: FunctionNode) -> Iterator[tuple[ast.expr, ast.expr, str]]:
    """What is taken under the very same key, or by the very same slice, by neighbours, one of which moves it."""
    for block in own_blocks_in(function):
        held = [each for number, one in enumerate(block) for each in _taken_by(one, number)]
        for left in held:
            beside = (each for each in held if each.move is not None and abs(each.number - left.number) <= _FAR)
            moved = next((each for each in beside if each.key == left.key and each.holder != left.holder), None)
            if left.move is None and moved is not None and _stays(tree, function, left, moved):
                yield left.value, moved.move, left.name  # type: ignore[misc]


class _Taken(NamedTuple):
    """What a statement takes out of a `holder` by a `key`, the name or item that it binds to it, and its move."""

    number: int
    target: ast.expr
    value: ast.expr
    holder: str
    key: str
    move: ast.Call | None

    @property
    def name(self) -> str:
        return dotted_path(self.target) or ""


def _taken_by(statement: ast.stmt, number: int) -> Iterator[_Taken]:
    """The thing that a statement takes, also below a test that asks for nothing but whether there is one."""
    if isinstance(statement, ast.If) and not statement.orelse and _asks_none(statement.test):
        statement = statement.body[0]
    assigned = assignment_of(statement)
    if assigned is None or len(assigned.targets) != 1:
        return
    target, value = assigned.targets[0], assigned.value
    joined = _joined(value) if isinstance(target, ast.Name) else None
    if joined is not None:
        yield _Taken(number, target, value, *joined)
        return
    move = moved_by(value)
    taken = move.func.value if move is not None and isinstance(move.func, ast.Attribute) else value
    holder, key = None, ""
    if isinstance(taken, ast.Subscript):
        holder, key = dotted_path(taken.value), f"[{ast.unparse(taken.slice)}]"
    elif isinstance(taken, ast.Call) and isinstance(taken.func, ast.Attribute) and taken.args:
        if taken.func.attr == "get":
            holder, key = dotted_path(taken.func.value), f"[{ast.unparse(taken.args[0])}]"
    elif isinstance(taken, ast.Name) and isinstance(target, ast.Name) and target.id.startswith(f"{taken.id}_"):
        holder, key = taken.id, target.id.removeprefix(taken.id)
    if holder is not None and (isinstance(target, ast.Name) or _item(target)):
        yield _Taken(number, target, value, holder, f"{holder.rpartition('.')[0]}.{_item(target)}{key}", move)


def _joined(node: ast.expr) -> tuple[str, str, ast.Call | None] | None:
    """What ``torch.stack([each.x.to(device) for each in rows])`` takes of each item: holder, key and move."""
    call = _first_call(node)
    listed = call.args[0] if call is not None and call.args and public_path(call.func) in _JOINS else None
    if not isinstance(listed, (ast.ListComp, ast.GeneratorExp)) or len(listed.generators) != 1:
        return None
    move, loop = moved_by(listed.elt), listed.generators[0]
    taken = move.func.value if move is not None and isinstance(move.func, ast.Attribute) else listed.elt
    item = taken.value if isinstance(taken, (ast.Attribute, ast.Subscript)) else None
    if not isinstance(item, ast.Name) or not is_name(loop.target, item.id) or call is None:
        return None
    key = f"{public_path(call.func)} of {ast.unparse(loop.iter)}"
    return f"{item.id}.{ast.unparse(taken)}", key, moved_by(node) or move


_JOINS = frozenset(f"torch.{each}" for each in ("stack", "cat", "concat", "vstack", "hstack"))


def _first_call(node: ast.expr) -> ast.Call | None:
    """``torch.stack(..)`` of ``torch.stack(..).to(device).float()``."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        node = node.func.value
    return node if isinstance(node, ast.Call) else None


def _item(target: ast.expr) -> str:
    """``[i]`` of ``parts[i]``, where something is put."""
    return f"[{ast.unparse(target.slice)}]" if isinstance(target, ast.Subscript) else ""


def _asks_none(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot)


def _stays(tree: ast.Module, function: FunctionNode, left: _Taken, moved: _Taken) -> bool:
    """Whether the one that is not moved is a tensor, which nothing moves later, and meets the other one."""
    if is_bookkeeping(left.holder) or is_bookkeeping(left.name) or is_of_places(_tests_around(function, left.value)):
        return False
    if not isinstance(left.target, ast.Name):
        own = left.holder.isidentifier() and ":" in left.key and not _is_moved_later(function, left)
        return own and (takes_tensor(function, left.holder) or _is_tensor(function, left.holder))
    name = left.target.id
    if name in names_moved(function) or not isinstance(moved.target, ast.Name) or moved.move is None:
        return False
    if isinstance(left.value, ast.Name):
        return mentions_device(left.key.lstrip("._")) and left.holder not in names_moved(function)
    beside = {moved.target.id, place_of(moved.move).partition(".")[0]} - {"self", "args", "device"}
    used = is_used_with(function, name, left.value, frozenset(beside))
    if _joined(left.value) is not None:
        return used
    is_tensor = _is_tensor(function, name) or _gives_tensor(left.value) or _keeps_tensors(tree, function, left.holder)
    return is_tensor and used and _meet(function, name, beside)


def _is_moved_later(function: FunctionNode, left: _Taken) -> bool:
    """Whether another statement moves what is in the list: ``parts[i] = parts[i].to(device)``."""
    holder = dotted_path(left.target.value) if isinstance(left.target, ast.Subscript) else None
    moves = (stem_of(each) for each in nodes_in(function, ast.Call) if is_plain_move(each))
    return any(isinstance(each, ast.Subscript) and dotted_path(each.value) == holder for each in moves)


def _tests_around(function: FunctionNode, node: ast.expr) -> list[ast.expr]:
    return [each.test for each in own_nodes_in(function, ast.If) if is_inside(node, each) and not _asks_none(each.test)]


def _is_tensor(function: FunctionNode, name: str) -> bool:
    uses = uses_in(function).get(name)
    return uses is not None and uses.is_tensor


def _meet(function: FunctionNode, name: str, beside: set[str]) -> bool:
    """Whether an operation has one of the others in it as well: ``weight * (p - anchor).pow(2)``."""
    for each in nodes_in(function, ast.BinOp):
        names = {part.id for part in inside(each) if isinstance(part, ast.Name)}
        if name in names and not names.isdisjoint(beside):
            return True
    return False


def _gives_tensor(node: ast.expr) -> bool:
    """``self.anchor.get(name, p.clone().detach())``."""
    if not isinstance(node, ast.Call) or len(node.args) != 2:
        return False
    return _is_tensor_expression(node.args[1])


def _is_tensor_expression(node: ast.expr) -> bool:
    while isinstance(node, ast.Call):
        if public_path(node.func).startswith("torch."):
            return True
        if not isinstance(node.func, ast.Attribute):
            return False
        if node.func.attr in _TENSOR_ONLY:
            return True
        node = node.func.value
    return False


def _keeps_tensors(tree: ast.Module, function: FunctionNode, holder: str) -> bool:
    """Whether the class of a method puts tensors into a table of its objects: ``self.anchor[name] = p.clone()``."""
    owner = next((each for each in nodes_in(tree, ast.ClassDef) if function in each.body), None)
    for each in assignments_in(owner) if owner is not None and holder.startswith("self.") else ():
        target = each.targets[0]
        if isinstance(target, ast.Subscript) and dotted_path(target.value) == holder:
            return _is_tensor_expression(each.value)
    return False
