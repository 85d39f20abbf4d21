"""Attributes of one object that a function binds to their copies on a device, beside one that it forgets (TDL310).

``self.mesh.faces = self.mesh.faces.to(device)``, others of `self.mesh` likewise, ``self.mesh.device = device``, and
then ``self.mesh.points.clone()``: that the object is on the device now holds for all of it. Without such a statement,
what is forgotten has to meet what was moved. And ``self.a = self.a.to(device); return self.a[i], self.b[j]``, where the
class makes `b` as it makes `a`. What is moved elsewhere, or read on the host, stays for a reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.left_in_one_case import is_of_places
from torchdevlint.flow.checks.forgotten.left_of_own import SIZES, attribute_behind
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.dimensions import takes_along
from torchdevlint.flow.scope.leaving_attributes import leaves
from torchdevlint.flow.scope.names import dotted_path, mentions_device, public_path, stem_of
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.plain_moves import is_plain_move, moved_by, place_of
from torchdevlint.flow.state.machine import Machine
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, assignment_of, inside, nodes_in, once_a_node, own_blocks_in

_LEAST_MOVED = 2
_TENSOR_ONLY = (torch_api.TENSOR_ONLY_METHODS | {"clone", "cpu"}) - SIZES
_MOVERS = frozenset({"to", "cuda", "_apply", "to_device", "move_to"})


class _Moved(NamedTuple):
    """The attributes of a `holder` that statements of one block bind to their copies, each with its move."""

    holder: str
    moves: dict[str, ast.Call]
    whole: bool
    """The block also says that the object is there: ``mesh.device = device``."""


def look(machine: Machine) -> None:
    """Record what is left so in a file that moves something."""
    owners = {method: owner for owner in nodes_in(machine.tree, ast.ClassDef) for method in owner.body}
    for function in functions_that_place(machine.tree):
        for block in own_blocks_in(function):
            for moved in _moved_in(block):
                own = owners.get(function) if moved.holder.startswith("self") else None
                left = _left(machine, function, own if isinstance(own, ast.ClassDef) else None, moved)
                if left is not None:
                    move = next(iter(moved.moves.values()))
                    record(machine, function, "beside", left, move, at=left, name=left.attr)


def _moved_in(block: Sequence[ast.stmt]) -> Iterator[_Moved]:
    found: dict[tuple[str, str], dict[str, ast.Call]] = {}
    told: set[tuple[str, str]] = set()
    for each in filter(None, map(assignment_of, block)):
        target, move = each.targets[0], moved_by(each.value)
        holder = dotted_path(target.value) if isinstance(target, ast.Attribute) else None
        if holder is None or not isinstance(target, ast.Attribute):
            continue
        if move is not None and dotted_path(stem_of(move)) == f"{holder}.{target.attr}":
            found.setdefault((holder, place_of(move)), {})[target.attr] = move
        elif holder != "self" and mentions_device(target.attr):  # ``self.device`` tells where results are to be
            told.add((holder, ast.unparse(each.value)))
    for (holder, place), moves in found.items():
        yield _Moved(holder, moves, (holder, place) in told)


def _left(machine: Machine, function: FunctionNode, own: ast.ClassDef | None, moved: _Moved) -> ast.Attribute | None:
    """The first read of the only attribute that is forgotten."""
    last = max(each.end_lineno or each.lineno for each in moved.moves.values())
    stays = _staying(own, moved)
    reads = [each for each in _reads(own or function, moved.holder) if each.attr not in stays]
    others = _keyed(machine.tree) | _counted(machine.tree)
    reads = [each for each in reads if not is_bookkeeping(each.attr) and each.attr not in others]
    if not moved.whole:  # else what is brought to the CPU is expected elsewhere
        reads = [each for each in reads if not leaves(machine.tree, each.attr)]
    elif reads:
        reads = [each for each in reads if each.attr not in _placed(machine.tree)]
    if not reads:
        return None
    behind = [each for each in reads if each.lineno > last and each.lineno <= (function.end_lineno or 0)]
    if moved.whole and len(moved.moves) >= _LEAST_MOVED:
        found = [each for each in reads if _is_tensor(own or function, each)]
    elif len(moved.moves) >= _LEAST_MOVED and function.name not in _MOVERS:
        found = [each for each in reads if _meets(own or function, each, moved)]
    else:
        found = [each for each in behind if own is not None and _is_twin(own, function, each, moved)]
    names = {each.attr for each in found}
    return found[0] if len(names) == 1 else None


@once_a_node
def _keyed(tree: ast.Module) -> frozenset[str]:
    """The attributes whose items a file takes by texts: ``self.options["rate"]`` is none of a tensor."""
    items = (each for each in nodes_in(tree, ast.Subscript) if isinstance(each.slice, ast.Constant))
    named = (each.value for each in items if isinstance(each.slice.value, str))  # type: ignore[attr-defined]
    return frozenset(each.attr for each in named if isinstance(each, ast.Attribute))


@once_a_node
def _counted(tree: ast.Module) -> frozenset[str]:
    """The attributes by which a file counts: ``self.size // self.step``, ``length % self.step``."""
    counts = (each for each in nodes_in(tree, ast.BinOp) if isinstance(each.op, (ast.FloorDiv, ast.Mod)))
    parts = (part for each in counts for part in (each.left, each.right))
    return frozenset(each.attr for each in parts if isinstance(each, ast.Attribute))


@once_a_node
def _placed(tree: ast.Module) -> frozenset[str]:
    """The attributes of which a file moves one."""
    moved = (stem_of(each) for each in nodes_in(tree, ast.Call) if is_plain_move(each))
    return frozenset(each.attr for each in moved if isinstance(each, ast.Attribute))


def _staying(own: ast.ClassDef | None, moved: _Moved) -> set[str]:
    """What is moved, is a method, or is put somewhere as it is bound."""
    found = {*moved.moves}
    if own is None:
        return found
    found |= {each.name for each in own.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for path, values in values_by_path(own).items():
        holder, _, name = path.rpartition(".")
        if holder == moved.holder and any(map(_says_place, values)):
            found.add(name)
    return found


def _says_place(node: ast.expr) -> bool:
    names = (each.id if isinstance(each, ast.Name) else each.attr for each in inside(node) if isinstance(each, _NAMED))
    told = any(mentions_device(each.arg or "") for each in inside(node) if isinstance(each, ast.keyword))
    return told or any(map(mentions_device, names)) or any(moved_by(each) for each in inside(node))


_NAMED = (ast.Name, ast.Attribute)


def _reads(scope: ast.AST, holder: str) -> list[ast.Attribute]:
    loaded = (each for each in nodes_in(scope, ast.Attribute) if isinstance(each.ctx, ast.Load))
    return [each for each in loaded if dotted_path(each.value) == holder]


def _is_tensor(scope: ast.AST, read: ast.Attribute) -> bool:
    """Whether it is used as only a tensor is: ``x.clone()``, ``sums.index_add_(0, x[:, 0], y)``, ``x.dtype``."""
    if any(each.value is read for each in nodes_in(scope, ast.Attribute) if each.attr == "dtype"):
        return True
    for call in nodes_in(scope, ast.Call):
        method = call.func if isinstance(call.func, ast.Attribute) else None
        if method is None or method.attr not in _TENSOR_ONLY:
            continue
        if _sliced(method.value) is read or any(_sliced(each) is read for each in call.args):
            return True
    return False


def _sliced(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript) and takes_along(node.slice):
        node = node.value
    return node


def _meets(scope: ast.AST, read: ast.Attribute, moved: _Moved) -> bool:
    """Whether an operation has it and what was moved beside each other: ``self.points[self.faces[:, 0]]``.

    The other way round, an index may be on the CPU.
    """
    for kind in (ast.BinOp, ast.Subscript, ast.Call):
        for node in nodes_in(scope, kind):
            parts = [attribute_behind(each) for each in _operands(node)]
            place = next((number for number, each in enumerate(parts) if each is read), None)
            if place is None or (place and isinstance(node, ast.Subscript)):
                continue
            others = {each.attr for each in parts if each is not None and each is not read}
            if others.intersection(moved.moves):
                return True
    return False


def _operands(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Subscript):
        return [node.value, *(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])]
    if not isinstance(node, ast.Call):
        return []
    if public_path(node.func).startswith("torch."):
        return arguments_of(node)
    method = node.func if isinstance(node.func, ast.Attribute) and node.func.attr in _TENSOR_ONLY else None
    return [method.value, *arguments_of(node)] if method is not None else []


def _is_twin(own: ast.ClassDef, function: FunctionNode, read: ast.Attribute, moved: _Moved) -> bool:
    """Whether the class makes it as it makes what is moved, and the function reads both in the same way."""
    made = values_by_path(own)
    form = _made(made, moved.holder, read.attr)
    shape = _read_in(function, read)
    for name in moved.moves if form and shape else ():
        if _made(made, moved.holder, name) != form:
            continue
        beside = (each for each in _reads(function, moved.holder) if each.attr == name)
        if any(_read_in(function, each) == shape for each in beside):
            tests = [each.test for each in nodes_in(own, ast.If) if {read.attr, name} & _attributes_in(each.test)]
            return not is_of_places(tests)
    return False


def _attributes_in(node: ast.expr) -> set[str]:
    return {each.attr for each in inside(node) if isinstance(each, ast.Attribute)}


def _made(values: Mapping[str, Sequence[ast.expr]], holder: str, name: str) -> list[str]:
    """The forms of what an attribute is bound to, but for moves of itself; empty where nothing is calculated."""
    path = f"{holder}.{name}"
    found = [each for each in values.get(path, ()) if dotted_path(stem_of(each)) != path]
    return [_form(each) for each in found] if all(isinstance(each, ast.Call) for each in found) else []


def _form(node: ast.expr) -> str:
    """The text of an expression without the names that it is made of."""
    names = {each.id for each in inside(node) if isinstance(each, ast.Name)} - {"torch", "np", "self"}
    return re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda word: "_" if word[0] in names else word[0], ast.unparse(node))


def _read_in(function: FunctionNode, read: ast.Attribute) -> str:
    """``_.to_[_]`` for an item, which only a tensor or an array gives along several dimensions."""
    for each in nodes_in(function, ast.Subscript):
        if each.value is read and takes_along(each.slice):
            return f"[{_form(each.slice)}]"
    return ""
