"""One of several things of one kind that leave a function together, of which it moves all others (TDL310).

``x, y, z = pad(rows)``, then `x` and `z` are moved, and all three returned: who gets them cannot tell. So it is with
what one function of torch makes of several things, and with items at one index of several lists. What the names stand
for is followed through moves and conversions. Lengths, texts and what the host reads stay for a reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.left_in_one_case import is_of_places, places
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, places_in, public_path
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.used_with_moved import is_left_alone
from torchdevlint.flow.scope.uses import uses_in
from torchdevlint.flow.state.machine import Machine
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, assignment_of, inside, is_inside, is_name, nodes_in, own_nodes_in

_LEAST_MOVED = 2
_KEEPS = torch_api.DTYPE_METHODS | frozenset({"clone", "contiguous", "detach", "requires_grad_"})
_NO_TENSORS = torch_api.FACTORIES | torch_api.LEGACY_CONSTRUCTORS | {"no_grad", "device", "load", "jit"}
"""What factories make is looked at elsewhere; the others give no tensors."""


class _Part(NamedTuple):
    """Something that leaves: `origin` is what it comes from with others, `move` where it is brought, if it is.

    `converted` says that a conversion shows it to be a tensor; on `line` its name is bound.
    """

    node: ast.expr
    name: str
    origin: str
    move: str
    at: ast.expr
    converted: bool
    line: int = 0


class _Leaving(NamedTuple):
    """A return or yield, and the parts of what it gives."""

    node: ast.Return | ast.Yield
    parts: Sequence[ast.expr]


def look(machine: Machine) -> None:
    """Record what is left so in a file that moves something."""
    for function in functions_that_place(machine.tree):
        shown = [each for each in _leaving(function) if any(isinstance(one, ast.Name) for one in each.parts)]
        if not shown or function in machine.pipeline or is_of_places(_tests(function)):
            continue
        for each in shown:
            before = list(_before(function.body, each.node))
            for left, moved in _left(function, [_part(before, one) for one in each.parts]):
                record(machine, function, "beside", left.node, moved.at, at=left.node, name=left.name)


def _tests(function: FunctionNode) -> list[ast.expr]:
    """What the function asks but for whether it was told a place: the moves are below that."""
    tests = [each.test for each in own_nodes_in(function, ast.If)]
    return [each for each in tests if not _asks_whether_told(each)]


def _asks_whether_told(test: ast.expr) -> bool:
    """``device is not None``."""
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.IsNot))


def _leaving(function: FunctionNode) -> Iterator[_Leaving]:
    """What each return, or yield, gives at once."""
    given: list[ast.Return | ast.Yield] = [*own_nodes_in(function, ast.Return), *own_nodes_in(function, ast.Yield)]
    for each in given:
        if isinstance(each.value, (ast.Tuple, ast.List)) and len(each.value.elts) > 1:
            yield _Leaving(each, each.value.elts)
        elif isinstance(each.value, ast.Dict):
            yield _Leaving(each, each.value.values)


def _before(block: Sequence[ast.stmt], node: ast.AST) -> Iterator[ast.stmt]:
    """The statements that are run before a place in a block, those around it left out, the nearest ones first."""
    for number, statement in enumerate(block):
        if not is_inside(node, statement):
            continue
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list):
                yield from _before(inner, node)
        yield from reversed(block[:number])
        return


def _part(before: Sequence[ast.stmt], node: ast.expr) -> _Part | None:
    """What an element of a result comes from, through the names that it goes by; None if that is open."""
    base, moves, converted = _chain(node)
    if not isinstance(base, ast.Name):
        return _Part(node, "", _origin(base), *_last(moves, node), converted)
    for statement in before:
        values = list(_bound_in(statement, base.id))
        for value in values:
            start, earlier, converts = _chain(value) if isinstance(value, ast.expr) else (value, [], False)
            moves, converted = [*earlier, *moves], converted or converts
            if is_name(start, base.id):
                continue
            if len(values) > 1 or not isinstance(statement, (ast.Assign, ast.AnnAssign)):
                return None
            origin = _origin(start) if isinstance(start, ast.expr) else f"parts of line {statement.lineno}"
            return _Part(node, base.id, origin, *_last(moves, node), converted, statement.lineno)
    return None


def _bound_in(statement: ast.stmt, name: str) -> Iterator[ast.expr | ast.stmt]:
    """What a statement, or one in it, binds to a name; the statement itself where it takes something apart for that."""
    held = list(inside(statement))
    assigned = [one for one in map(assignment_of, held) if one is not None]
    alone = {id(to): each.value for each in assigned for to in each.targets}
    for each in held:
        if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store):
            yield alone.get(id(each), statement)


def _last(moves: Sequence[ast.Call], node: ast.expr) -> tuple[str, ast.expr]:
    """The place that the last move says, and that move."""
    if not moves:
        return "", node
    told = places_in(moves[-1])
    return (ast.unparse(told[0]) if told else "cuda"), moves[-1]


def _chain(node: ast.expr) -> tuple[ast.expr, list[ast.Call], bool]:
    """What moves and conversions start with, the moves, and whether one converts; None in another case is left out."""
    if isinstance(node, ast.IfExp) and isinstance(node.orelse, ast.Constant) and node.orelse.value is None:
        node = node.body
    moves: list[ast.Call] = []
    converted = False
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method = node.func.attr
        if places(node):
            moves.insert(0, node)
        elif method == "to" or method in _KEEPS:
            converted = converted or method in torch_api.DTYPE_METHODS
        else:
            break
        node = node.func.value
    return node, moves, converted


def _origin(node: ast.expr) -> str:
    """The function of torch that makes something, or the place of it among things that are alike; empty for others."""
    if isinstance(node, ast.Call):
        path = public_path(node.func)
        is_made = path.startswith("torch.") and path.rpartition(".")[2] not in _NO_TENSORS
        return f"{path}()" if is_made and node.args else ""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        holder = dotted_path(node.value.value)
        return f"{holder}.*[{ast.unparse(node.slice)}]" if holder is not None else ""
    return ""


def _left(function: FunctionNode, parts: Sequence[_Part | None]) -> Iterator[tuple[_Part, _Part]]:
    """The only one of an origin that is not moved, where all others go to one place."""
    groups: dict[str, list[_Part]] = {}
    for each in parts:
        if each is not None and each.origin:
            groups.setdefault(each.origin, []).append(each)
    for origin, group in groups.items():
        moved = [each for each in group if each.move]
        left = [each for each in group if not each.move]
        if len(left) != 1 or not moved or len({each.move for each in moved}) != 1 or is_cpu_spec(_place(moved[0])):
            continue
        one = left[0]
        named = is_bookkeeping(one.name) and not any(is_bookkeeping(each.name) for each in moved)
        if not one.name or named or not is_left_alone(function, one.name, one.line) or _is_used(function, one):
            continue
        several = len(moved) >= _LEAST_MOVED and (origin.endswith("]") or _is_tensor(function, one))
        if origin.endswith("()") or several:
            yield one, moved[0]


def _place(part: _Part) -> ast.expr:
    told = places_in(part.at) if isinstance(part.at, ast.Call) else []
    return told[0] if told else part.at


def _is_used(function: FunctionNode, part: _Part) -> bool:
    """Whether the function itself does something with it, where it is: it compares it, or looks something up by it."""
    used = [*nodes_in(function, ast.BinOp), *nodes_in(function, ast.Subscript), *nodes_in(function, ast.Call)]
    used += [each for each in nodes_in(function, ast.Compare) if not isinstance(each.ops[0], (ast.Is, ast.IsNot))]
    held = [one for each in used if each.lineno > part.line for one in _operands(each)]
    return any(is_name(each, part.name) for each in held)


def _operands(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Subscript):
        return [node.value, node.slice]
    return arguments_of(node) if isinstance(node, ast.Call) else []


def _is_tensor(function: FunctionNode, part: _Part) -> bool:
    """Whether a conversion, or a use, shows what is taken apart with others to be a tensor."""
    uses = uses_in(function).get(part.name)
    return part.converted or (uses is not None and uses.is_tensor)
