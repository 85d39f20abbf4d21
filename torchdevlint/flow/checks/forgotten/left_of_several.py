"""One of several things that a function takes from one place, of which it moves all others (TDL310).

``ids = batch["ids"].to(device)``, ``mask = batch["mask"].to(device)``, and ``kinds = batch["kinds"]``, which a model
gets beside them. So do arrays that are made tensors, one after the other, and the elements of what is returned. What
they meet need not be known. Lengths, texts, and what is moved later, or read on the host, stay for a reason.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.left_behind import Scope, moves_any, record
from torchdevlint.flow.events import FileEnded
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.annotations import annotated_tensor, annotation_name
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping, is_called_text, is_quantity
from torchdevlint.flow.scope.model_names import TAKEN_BY_NAME
from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, mentions_device, public_path, stem_of
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.plain_moves import moves_of_own
from torchdevlint.flow.scope.used_with_moved import is_used_with
from torchdevlint.flow.scope.uses import bindings_in, bound_in_loops
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import (
    arguments_of,
    assignment_of,
    nodes_in,
    own_assignments_in,
    own_blocks_in,
    own_nodes_in,
)

_LEAST_MOVED = 2
_CPU = "cpu"
_FAR = 2
"""How many statements may be between tensors of arrays that are made one after the other."""
_KEEPS = torch_api.DTYPE_METHODS | frozenset(
    """
    clone contiguous detach expand flatten permute requires_grad_ reshape squeeze swapaxes t transpose unsqueeze
    unsqueeze_ view
    """.split()
)
_WRAPS = frozenset({"torch.autograd.Variable", "torch.nn.Parameter", "torch.nn.parameter.Parameter"})
_OF_DATA = torch_api.DATA_FACTORIES | torch_api.LEGACY_CONSTRUCTORS | {"from_numpy"}


class _Part(NamedTuple):
    """What an expression takes: `place` is the holder, or what makes it, `key` its name there, `move` how it moves."""

    node: ast.expr
    place: str
    key: str
    move: str


def _note_end(event: FileEnded) -> None:
    machine = event.machine
    if not moves_any(machine, _LEAST_MOVED):
        return
    for scope in (machine.tree, *functions_that_place(machine.tree)):
        in_displays = list(_in_displays(scope))
        times = Counter(ast.unparse(left.node) for _, left, _ in in_displays)
        in_displays = [each for each in in_displays if times[ast.unparse(each[1].node)] == 1]
        for name, left, move in (*in_displays, *_in_calls(scope), *_in_statements(scope)):
            record(machine, scope, "beside", left.node, move.node, at=left.node, name=name)


def _in_displays(scope: Scope) -> Iterator[tuple[str, _Part, _Part]]:
    """What is left in ``return (a.to(device), b.to(device), c)``, and in a dict of a name or a result.

    What several of them leave is left on purpose, as lengths are.
    """
    values = [each.value for each in own_nodes_in(scope, ast.Return)]
    values += [each.value for each in own_assignments_in(scope)]
    for value in values:
        if isinstance(value, ast.Dict):
            named = zip(value.keys, value.values, strict=True)
            parts = [_part(each) for key, each in named if key is not None and not is_called_text(key)]
        elif isinstance(value, ast.Tuple):
            parts = [_part(each) for each in value.elts]
        else:
            continue
        found = [each for each in parts if each is not None]
        for group in _groups(found):
            if (left := _left(group)) is not None:
                yield "", left, next(each for each in group if each.move)


def _in_calls(scope: Scope) -> Iterator[tuple[str, _Part, _Part]]:
    """What is left in ``model(source[0].to(device), source[1], target.to(device))``: all else goes to one device.

    One other of what it was taken from is enough: an index of it says nothing of a length or a text.
    """
    for call in own_nodes_in(scope, ast.Call):
        given = [each for each in arguments_of(call) if not isinstance(each, ast.Constant)]
        if len(given) <= _LEAST_MOVED or public_path(call.func).startswith(_NOT_OF_TENSORS):
            continue
        moves = [_moved_by(each) for each in given]
        if moves.count("") != 1 or len(set(moves) - {""}) != 1 or _CPU in moves:
            continue
        left = _item(given[moves.index("")])
        if left is not None and (beside := next((each for each in given if _is_beside(each, left)), None)) is not None:
            yield "", _Part(given[moves.index("")], "", "", ""), _Part(beside, "", "", "")


_NOT_OF_TENSORS = ("builtins.", "print", "logging.", "numpy.")


def _moved_by(node: ast.expr) -> str:
    """The device that the last move of a chain brings something to; empty if there is none."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("to", "cuda") and (place := _CUDA if node.func.attr == "cuda" else _device_in(node)):
            return place
        node = node.func.value
    return ""


_CUDA = "cuda"


def _item(node: ast.expr) -> ast.Subscript | None:
    """``source[1]``, with a number as its index."""
    number = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    return node if number and type(node.slice.value) is int else None  # type: ignore[attr-defined,return-value]


def _is_beside(node: ast.expr, left: ast.Subscript) -> bool:
    """Whether something moved is another item of the same thing."""
    item = _item(stem_of(node))
    return item is not None and item is not left and dotted_path(item.value) == dotted_path(left.value) is not None


def _in_statements(scope: Scope) -> Iterator[tuple[str, _Part, _Part]]:
    """What is left in statements, and is used with what the others have moved.

    Parts of one object belong together wherever they stand; what is made of arrays only if they are neighbours.
    """
    of_objects: list[_Bound] = []
    moves = moves_of_own(scope) if isinstance(scope, FunctionNode) else {}
    for block in own_blocks_in(scope):
        held = list(_bound_in(block, moves))
        of_objects += (each for each in held if not _is_array(each.part))
        yield from _used(scope, [each for each in held if _is_array(each.part)])
    once = [each for each in of_objects if not _is_bound_often(scope, each.part)]
    yield from _used(scope, once)


class _Bound(NamedTuple):
    """A part that a statement binds to a name: the number of it in its block, the name, and the part."""

    number: int
    name: str
    part: _Part


def _bound_in(block: Sequence[ast.stmt], moves: Mapping[str, ast.Call]) -> Iterator[_Bound]:
    """What a block takes; what a name is bound to that a statement moves is moved: ``x = batch["x"]; x = x.to(d)``."""
    for number, statement in enumerate(block):
        assigned = assignment_of(statement)
        target = dotted_path(assigned.targets[0]) if assigned is not None else None
        part = _part(assigned.value) if assigned is not None and target is not None else None
        later = moves.get(target or "") if part is not None and not part.move and not _is_array(part) else None
        if later is not None and part is not None:
            part = part._replace(move=_moved_by(later))
        if part is not None and target is not None and (part.move or not _is_annotated_otherwise(statement)):
            yield _Bound(number, target, part)


def _is_annotated_otherwise(statement: ast.stmt) -> bool:
    """Whether an annotation says that what is bound is no tensor: ``saliency: np.ndarray = batch["saliency"]``."""
    if not isinstance(statement, ast.AnnAssign) or annotation_name(statement.annotation) in ("Any", "object"):
        return False
    return not annotated_tensor(statement.annotation)


def _used(scope: Scope, held: Sequence[_Bound]) -> Iterator[tuple[str, _Part, _Part]]:
    for group in _groups([each.part for each in held]):
        left = _left(group)
        if left is None:
            continue
        of = {id(each.part): each for each in held}
        own, moved = of[id(left)], [of[id(each)] for each in group if each.move]
        near = [each for each in moved if not _is_array(left) or abs(own.number - each.number) <= _FAR]
        name, beside = own.name, {each.name for each in moved}
        if not near or not name.isidentifier() or _stays_by_name(name, any(map(is_bookkeeping, beside))):
            continue
        if is_used_with(scope, name, left.node, frozenset(beside)):
            yield name, left, near[0].part


def _is_array(part: _Part) -> bool:
    return part.place.startswith("torch.")


def _is_bound_often(scope: Scope, part: _Part) -> bool:
    """Whether the name of what holds a part is bound anew, but by loops, which bind it to things of one kind."""
    name = part.place.partition(".")[0].partition("[")[0].partition("(")[0]
    return sum(binds for _, binds, _ in bindings_in(scope).get(name, ())) > 1 and name not in bound_in_loops(scope)


def _groups(parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    """The parts that come from one place."""
    places: dict[str, list[_Part]] = {}
    for each in parts:
        places.setdefault(each.place, []).append(each)
    return (each for each in places.values() if len(each) > _LEAST_MOVED)


def _left(group: Sequence[_Part]) -> _Part | None:
    """The only one of a group that is not moved, where all others go to one device.

    What stays by its name is none of them, nor is what is moved in another place.
    """
    moved = [each for each in group if each.move]
    keys = {each.key for each in moved} - {""}
    named = any(is_bookkeeping(each.key) for each in moved)
    left = [each for each in group if not each.move and each.key not in keys and not _stays(each, named)]
    moves = {each.move for each in moved}
    is_one = len(left) == len(moves) == 1 and len(moved) >= _LEAST_MOVED
    return left[0] if is_one and _CPU not in moves else None


def _stays(part: _Part, others: bool) -> bool:
    words = [part.key, *(each.id for each in nodes_in(part.node, ast.Name))]
    return any(map(is_quantity, words)) or _stays_by_name(part.key, others) or _is_text(part.node)


def _stays_by_name(name: str, others: bool) -> bool:
    """Whether it is called like what is kept on the CPU; an index is none of that where `others` are moved as well."""
    is_index = is_bookkeeping(name) and name not in TAKEN_BY_NAME
    return is_quantity(name) or (is_index and not others)


def _is_text(node: ast.expr) -> bool:
    return any(is_called_text(each.slice) for each in nodes_in(node, ast.Subscript)) or (
        isinstance(node, ast.Subscript) and is_called_text(node.slice)
    )


def _part(node: ast.expr) -> _Part | None:
    """What an expression takes from where, behind conversions and moves."""
    whole, move = node, ""
    while isinstance(node, ast.Call):
        func, path = node.func, public_path(node.func)
        if path in _WRAPS and node.args:
            node = node.args[0]
        elif path.startswith("torch."):
            return _made(whole, path, node, move)
        elif isinstance(func, ast.Attribute) and func.attr in ("to", "cuda"):
            given = "cuda" if func.attr == "cuda" else _device_in(node)
            move, node = given or move, func.value
        elif isinstance(func, ast.Attribute) and func.attr in _KEEPS:
            node = func.value
        else:
            return _given_by(whole, node, move)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        holder, key = dotted_path(node.value), node.slice.value
        return _Part(whole, f"{holder}[]", key if isinstance(key, str) else "", move) if holder else None
    if isinstance(node, ast.Attribute):
        holder = dotted_path(node.value)
        of_object = holder is not None and holder != "self" and not public_path(node).startswith("torch.")
        return _Part(whole, f"{holder}.", node.attr, move) if of_object and node.attr not in _SIZES else None
    return None


def _given_by(whole: ast.expr, call: ast.Call, move: str) -> _Part | None:
    """``cache.keys()``: what a method of an object gives that is told nothing."""
    if not isinstance(call.func, ast.Attribute) or call.args or call.keywords:
        return None
    holder = dotted_path(call.func.value)
    return None if holder in (None, "self") else _Part(whole, f"{holder}()", call.func.attr, move)


_SIZES = torch_api.SHAPE_ATTRIBUTES | {"T", "data"}


def _made(whole: ast.expr, path: str, call: ast.Call, move: str) -> _Part | None:
    """``torch.tensor(rewards)``: a tensor of an array; where it is made on a device, it needs no move."""
    name = path.removeprefix("torch.")
    if name not in _OF_DATA or len(call.args) != 1:
        return None
    if isinstance(call.args[0], (ast.Constant, ast.List)):
        return None
    told = [each.value for each in call.keywords if each.arg == "device"]
    return _Part(whole, "torch.", "", move or (ast.unparse(told[0]) if told else ""))


def _device_in(call: ast.Call) -> str:
    """`device` of ``x.to(device)`` and ``x.to("cuda", torch.float)``; empty for a dtype, or for the CPU."""
    for each in arguments_of(call):
        if is_cpu_spec(each):
            return _CPU
        is_text = isinstance(each, ast.Constant) and isinstance(each.value, str)
        if is_text or mentions_device((dotted_path(each) or "").rpartition(".")[2]):
            return ast.unparse(each)
    return ""


SAYING = (".to(", ".cuda(")
EVENTS = {FileEnded: _note_end}
