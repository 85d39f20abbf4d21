"""One part of a thing that a function leaves where it is, under a flag for CUDA that moves another part (TDL310).

``tokens = batch.tokens; lengths = batch.lengths; if self.use_cuda: lengths = lengths.cuda()``, and a model gets both.
What stands behind a moved part may be a text, unless it is called like what models take. So it is with
``for images, target in loader: if gpu is not None: images = images.cuda(gpu)``, and a loss of the output and `target`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping, is_called_text
from torchdevlint.flow.scope.model_names import TAKEN_BY_NAME, is_named_like_a_loss, is_named_like_a_model
from torchdevlint.flow.scope.names import dotted_path, mentions_cuda
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.plain_moves import moved_by, names_moved
from torchdevlint.flow.scope.uses import bindings_in, uses_in
from torchdevlint.flow.state.machine import Machine
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import (
    arguments_of,
    assignment_of,
    assignments_in,
    inside,
    is_name,
    nodes_in,
    own_blocks_in,
)


def look(machine: Machine) -> None:
    """Record what is left so in a file that moves something."""
    for function in functions_that_place(machine.tree):
        taken = {id(each.body): _taken_by(each) for each in nodes_in(function, ast.For)}
        for block in own_blocks_in(function):
            for number, asked in enumerate(block):
                moved = _moved_under_flag(asked)
                parts = [*taken.get(id(block), ()), *(one for each in block[:number] for one in _parts_of(each))]
                for left, move in _left(function, dict(parts), moved) if moved else ():
                    record(machine, function, "beside", left, move, at=left, name=left.id)


def _taken_by(loop: ast.For) -> list[tuple[str, str]]:
    """`images` and `target` of ``for i, (images, target) in enumerate(loader)``."""
    found = [each for each in inside(loop.target) if isinstance(each, ast.Tuple)]
    return [(each.id, "loop") for each in found[-1].elts if isinstance(each, ast.Name)] if found else []


def _moved_under_flag(statement: ast.stmt) -> dict[str, ast.Call]:
    """``if cuda: x = x.cuda()``: what such a test moves, where it does nothing else."""
    if not isinstance(statement, ast.If) or statement.orelse or not _is_flag(statement.test):
        return {}
    found: dict[str, ast.Call] = {}
    for each in statement.body:
        assigned = assignment_of(each)
        move = moved_by(assigned.value) if assigned is not None else None
        target = assigned.targets[0] if assigned is not None else None
        if isinstance(each, ast.Pass):
            continue
        if move is None or not isinstance(target, ast.Name) or not is_name(move.func.value, target.id):  # type: ignore[attr-defined]
            return {}
        found[target.id] = move
    return found


def _is_flag(test: ast.expr) -> bool:
    """``cuda``, ``self.use_gpu``, ``torch.cuda.is_available()``, ``args.gpu is not None``."""
    asks = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot)
    return mentions_cuda(ast.unparse(test)) and (asks or not isinstance(test, (ast.UnaryOp, ast.Compare)))


def _left(
    function: FunctionNode, holders: dict[str, str], moved: dict[str, ast.Call]
) -> Iterator[tuple[ast.Name, ast.Call]]:
    """The name of a part of what a moved name is a part of, in a call of a model that gets both, with the move."""
    known = names_moved(function)
    places = {holders[name]: move for name, move in moved.items() if name in holders}
    left = {name for name, holder in holders.items() if holder in places and name not in moved and name not in known}
    left = {name for name in left if sum(bound for _, bound, _ in bindings_in(function)[name]) == 1}
    for call in nodes_in(function, ast.Call) if left else ():
        given = [each.id if isinstance(each, ast.Name) else "" for each in arguments_of(call)]
        first = next((number for number, each in enumerate(given) if each in moved), None)
        if _compares(function, call, moved) and given[1] in left and not _is_of_host(function, given[1]):
            yield call.args[1], places[holders[given[1]]]  # type: ignore[misc]
        elif first is not None and is_named_like_a_model(call.func):
            for number, (name, node) in enumerate(zip(given, arguments_of(call), strict=True)):
                if name in left and not _stays(function, name, number < first):
                    yield node, places[holders[name]]  # type: ignore[misc]


def _compares(function: FunctionNode, call: ast.Call, moved: dict[str, ast.Call]) -> bool:
    """``criterion(output, target)``, where `output` is bound to what a call makes of something that is moved."""
    if not is_named_like_a_loss(call.func) or len(call.args) != 2 or not isinstance(call.args[0], ast.Name):
        return False
    made = (each.value for each in assignments_in(function) if is_name(each.targets[0], call.args[0].id))
    return any(isinstance(each, ast.Call) and _gets(each, moved) for each in made)


def _gets(call: ast.Call, names: dict[str, ast.Call]) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in arguments_of(call))


def _parts_of(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """``tokens = batch.tokens`` and ``tokens, lengths = batch``: the names, and what they are parts of."""
    assigned = assignment_of(statement)
    if assigned is None or len(assigned.targets) != 1:
        return
    target, value = assigned.targets[0], assigned.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Name):
        yield from ((each.id, f"{value.id} of line {statement.lineno}") for each in target.elts if _is_name(each))  # type: ignore[attr-defined]
    elif isinstance(target, ast.Name) and isinstance(value, (ast.Attribute, ast.Subscript)):
        holder = dotted_path(value.value)
        keyed = isinstance(value, ast.Attribute) or isinstance(value.slice, ast.Constant)
        if holder not in (None, "self") and keyed:
            yield target.id, f"{holder}.{type(value).__name__}"


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def _stays(function: FunctionNode, name: str, is_first: bool) -> bool:
    if is_bookkeeping(name) or is_called_text(ast.Constant(name)):
        return True
    uses = uses_in(function).get(name)
    taken = is_first or name in TAKEN_BY_NAME or (uses is not None and uses.is_tensor)
    return not taken or _is_of_host(function, name)


def _is_of_host(function: FunctionNode, name: str) -> bool:
    asked = [each.attr for each in nodes_in(function, ast.Attribute) if is_name(each.value, name)]
    return not {"cpu", "numpy", "tolist", "items", "keys"}.isdisjoint(asked)
