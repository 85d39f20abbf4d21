"""Arguments that a function leaves where they are, beside others that it moves, or moves in another call (TDL310).

``def update(self, ids: Tensor, mask: Tensor, rewards: Tensor)`` binds `ids` and `mask` to their copies on a device, and
calculates with `rewards` and `mask`: one caller gives all three. And ``run(x.to(device), y.to(device))`` beside
``run(x, z.to(device))`` says where `x` is. Lengths and texts, and what the host reads, stay for a reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping, is_quantity
from torchdevlint.flow.scope.brought_reads import takes_tensor
from torchdevlint.flow.scope.model_names import is_named_like_a_model
from torchdevlint.flow.scope.moved_by_callers import is_moved_by_callers
from torchdevlint.flow.scope.names import defaults, public_path, stem_of
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.plain_moves import is_plain_move, moves_of_own, names_moved, place_of
from torchdevlint.flow.scope.used_with_moved import is_used_with
from torchdevlint.flow.scope.uses import bindings_in, uses_in
from torchdevlint.flow.state.machine import Machine
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, inside, is_name, nodes_in, own_nodes_in

_LEAST_MOVED = 2
_HELPERS = ("builtins.", "print", "logging.", "numpy.", "matplotlib.", "torch.testing.")


def look(machine: Machine) -> None:
    """Record what is left so in a file that moves something."""
    for function in functions_that_place(machine.tree):
        if function in machine.pipeline:
            continue
        for left, moved, at in (*_beside(machine.tree, function), *_elsewhere(function)):
            record(machine, function, "beside", at, moved, at=at, name=left)


def _beside(tree: ast.Module, function: FunctionNode) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """The one tensor among the arguments that is not moved, where the others are, and one of them meets it."""
    spec = function.args
    given = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    moves = moves_of_own(function) if len(given) > _LEAST_MOVED else {}
    moved = {each.arg: moves[each.arg] for each in given if each.arg in moves}
    if len(moved) < _LEAST_MOVED:
        return
    tensors = (each for each in given if each.arg not in moves and takes_tensor(function, each.arg))
    left = [each for each in tensors if not is_quantity(each.arg)]
    places = {place_of(each) for each in moved.values()}
    if len(left) != 1 or len(places) != 1:
        return
    name = left[0].arg
    says_where = places.pop().partition(".")[0] == name
    if says_where or _stays(function, name, frozenset(moved)) or is_moved_by_callers(tree, function, name):
        return
    read = _met(function, name, frozenset(moved))
    if read is not None and is_used_with(function, name, left[0], frozenset(moved)):  # type: ignore[arg-type]
        yield name, next(iter(moved.values())), read


def _stays(function: FunctionNode, name: str, moved: frozenset[str]) -> bool:
    """Whether an argument is bound anew, or is of another kind than those that are moved: a length, or one left out."""
    left_out = {each for each, value in defaults(function) if isinstance(value, ast.Constant) and value.value is None}
    if is_bookkeeping(name) and not any(map(is_bookkeeping, moved)):
        return True
    return _is_bound(function, name) or (name in left_out and left_out.isdisjoint(moved))


def _met(function: FunctionNode, name: str, moved: frozenset[str]) -> ast.expr | None:
    """The name in an operation, or a call, that has one of those that are moved as well."""
    met = [*nodes_in(function, ast.BinOp), *nodes_in(function, ast.Compare), *nodes_in(function, ast.Call)]
    for each in sorted(met, key=lambda one: (one.lineno, one.col_offset)):
        operand = next((one for one in _operands(each) if is_name(stem_of(one), name)), None)
        if operand is not None and any(isinstance(one, ast.Name) and one.id in moved for one in inside(each)):
            return operand
    return None


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        return arguments_of(node)
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    return [node.left, node.right] if isinstance(node, ast.BinOp) else []


def _is_bound(function: FunctionNode, name: str) -> bool:
    return any(bound for _, bound, _ in bindings_in(function).get(name, ()))


def _elsewhere(function: FunctionNode) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """A tensor that a call gets as it came, beside something moved, where another call gets its copy on the device."""
    kept, moved = moves_of_own(function), names_moved(function)
    names = {name: move for name, move in moved.items() if name not in kept and _is_tensor(function, name)}
    for call in own_nodes_in(function, ast.Call) if names else ():
        given = arguments_of(call)
        if len(given) < _LEAST_MOVED or public_path(call.func).startswith(_HELPERS) or is_plain_move(call):
            continue
        for each in given:
            move = names.get(each.id) if isinstance(each, ast.Name) else None
            if move is None or is_bookkeeping(each.id):  # type: ignore[attr-defined]
                continue
            beside = [one for one in given if one is not each and _holds(one, place_of(move))]
            if beside and not (is_named_like_a_model(each) or _is_moved_before(move, call)):
                yield each.id, move, each  # type: ignore[attr-defined]
                return


def _is_tensor(function: FunctionNode, name: str) -> bool:
    """Whether a name is that of an argument, bound to nothing else, which is a tensor by its annotation or its uses."""
    if _is_bound(function, name):
        return False
    uses = uses_in(function).get(name)
    return takes_tensor(function, name) or (uses is not None and uses.is_tensor)


def _holds(node: ast.expr, place: str) -> bool:
    """Whether what is given is moved to a place, be it in a calculation: ``angle.to(device) * 3``."""
    return any(is_plain_move(each) and place_of(each) == place for each in nodes_in(node, ast.Call))


def _is_moved_before(move: ast.Call, call: ast.Call) -> bool:
    """Whether the move stands in the very call: ``run(x, x.to(device))``."""
    return any(each is move for each in inside(call))
