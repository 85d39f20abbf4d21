"""Tensors that a loop puts into one list, some made on the default device and some that are elsewhere.

``boxes.append(torch.zeros(0, 4))`` where nothing was found, and ``boxes.append(found)`` where something was; then
``torch.cat(boxes)``. Each round takes one arm, by what it is about, so that the list comes to hold both. A list that is
returned as it is shows the same where factories make all of it, and only some are told a device.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import permutations

from msgspec import Struct

from torchdevlint.flow.events import Mixed, Returned
from torchdevlint.flow.facts.tensors import ANOTHER_RETURN
from torchdevlint.flow.scope.assigned import assignments_by_path
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.conditions import compatible
from torchdevlint.flow.state.devices import DEFAULT, Origin, Relation, on_cpu, relation
from torchdevlint.flow.state.joins import alternatives, settle
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import is_created, is_of_sizes, tensors_in
from torchdevlint.flow.state.values import Choice, Seq, Tensor, Value
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import inside, is_inside, nodes_in, once_a_node

_JOINING = ("cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "row_stack", "column_stack")
_Loop = ast.For | ast.AsyncFor | ast.While
_Operand = tuple[ast.expr, Tensor]


class _Put(Struct, frozen=True, eq=False):
    """What a call appends."""

    call: ast.Call
    node: ast.expr
    value: Value


class _Memory:
    """What was appended to the lists of one file, by the run of a function and the name of the list."""

    def __init__(self) -> None:
        self.put: dict[tuple[object, str], dict[ast.Call, _Put]] = {}


def _note_append(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    name = node.func.value if isinstance(node.func, ast.Attribute) else None
    if not isinstance(receiver, Seq) or not isinstance(name, ast.Name) or len(arguments.positional) != 1:
        return
    at, value = arguments.positional[0]
    value = settle(value, state.conditions)
    if any(True for _ in tensors_in(value)):
        put = frame.machine.memory(_Memory).put.setdefault((frame.activation, name.id), {})
        put[node] = _Put(node, at, value)


def _note_joined(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    joined = node.args[0] if node.args else None
    scope = frame.function or frame.machine.tree
    if (
        joined is not None
        and arguments.positional
        and _note_elements(frame, state, node, name, arguments.positional[0])
    ):
        return
    if not isinstance(joined, ast.Name) or scope is None:
        return
    listed, by_place = _list_behind(scope, joined.id)
    put = frame.machine.memory(_Memory).put.get((frame.activation, listed), {})
    if len(put) < 2 or _is_bound_between(scope, listed, put, node):
        return
    for one, other in permutations(put.values(), 2):
        if not _come_together(scope, one.call, other.call):
            continue
        for stayed, beside in _pairs(one, other, by_place):
            frame.machine.emit(Mixed(frame, state, node, f"`{name}()`", stayed, beside))
            return


def _note_returned(event: Returned) -> None:
    """``rows.append(torch.ones(n, device=device))``, ``rows.append(torch.zeros(n))``, and ``return rows``."""
    frame, node = event.frame, event.node
    if not isinstance(node, ast.Name) or not isinstance(event.value, Seq) or frame.function is None:
        return
    put = frame.machine.memory(_Memory).put.get((frame.activation, node.id), {})
    if len(put) < 2 or _is_bound_between(frame.function, node.id, put, node):
        return
    for one, other in permutations(put.values(), 2):
        if not _come_together(frame.function, one.call, other.call) or _is_by_place(frame.function, one, other):
            continue
        for (at, stayed), (by, placed) in _pairs(one, other, by_place=False):
            told = placed.device.origin in (Origin.EXPRESSION, Origin.LITERAL) and not on_cpu(placed.device)
            if told and is_created(placed) and is_created(stayed) and all(map(is_of_sizes, stayed.creations)):
                frame.machine.emit(Mixed(frame, event.state, node, ANOTHER_RETURN, (at, stayed), (by, placed)))
                return


def _is_by_place(scope: ast.AST, one: _Put, other: _Put) -> bool:
    """Whether a test that parts the two speaks of a place, or of what is kept on the host."""
    parting = (each for each in nodes_in(scope, ast.If) if _arm(each, one.call) != _arm(each, other.call))
    return any(_OF_PLACES.search(ast.unparse(each.test)) for each in parting)


_OF_PLACES = regex(r"device|cuda|gpu|cpu|host|pin|index|length")


def _note_elements(frame: Frame, state: State, node: ast.Call, name: str, joined: tuple[ast.expr, Value]) -> bool:
    """``torch.cat([torch.zeros(p.shape) if g is None else g for g, p in pairs])``: each round may take another arm."""
    at, value = joined
    members = (value.element, *value.members) if isinstance(value, Seq) and value.items is None else ()
    for member in (each for each in members if type(each) is Choice):
        held = [(conditions, each) for conditions, each in alternatives(member) if isinstance(each, Tensor)]
        for (mine_if, stayed), (theirs_if, beside) in permutations(held, 2):
            made = stayed.device == DEFAULT and stayed.ndim and stayed.creations
            if not made or relation(stayed.device, beside.device) is not Relation.DIFFER:
                continue
            words = {word for key, _ in set(mine_if) ^ set(theirs_if) for word in _WORD.findall(key)}
            if not words.isdisjoint(_named_in_rounds(frame.function or frame.machine.tree)):
                frame.machine.emit(Mixed(frame, state, node, f"`{name}()`", (at, stayed), (at, beside)))
                return True
    return False


@once_a_node
def _named_in_rounds(scope: ast.AST) -> frozenset[str]:
    """The names that comprehensions bind, anew in each round."""
    targets = (part for each in nodes_in(scope, ast.comprehension) for part in inside(each.target))
    return frozenset(each.id for each in targets if isinstance(each, ast.Name))


_WORD = regex(r"(?<![.\w])[A-Za-z_]\w*")


@once_a_node
def _unzipped(scope: ast.AST) -> dict[str, str]:
    """``for x in zip(*rows)`` of comprehensions: the list by the name of each column."""
    found = {}
    for part in nodes_in(scope, ast.comprehension):
        given = part.iter.args if isinstance(part.iter, ast.Call) and dotted_path(part.iter.func) == "zip" else []
        if len(given) == 1 and isinstance(given[0], ast.Starred) and isinstance(given[0].value, ast.Name):
            found.update({part.target.id: given[0].value.id} if isinstance(part.target, ast.Name) else {})
    return found


def _list_behind(scope: ast.AST, name: str) -> tuple[str, bool]:
    """The list that is joined, and whether it is joined column by column."""
    listed = _unzipped(scope).get(name)
    return (name, False) if listed is None else (listed, True)


def _is_bound_between(scope: ast.AST, name: str, put: dict[ast.Call, _Put], node: ast.expr) -> bool:
    """Whether the list is made anew after it was filled, as by what moves all that it holds."""
    filled = max(each.end_lineno or each.lineno for each in put)
    return any(filled < each.value.lineno < node.lineno for each in assignments_by_path(scope).get(name, ()))


def _come_together(scope: ast.AST, one: ast.Call, other: ast.Call) -> bool:
    """Whether one loop comes to both: by no test, or by tests of what its rounds are about."""
    loop = _innermost_loop(scope, one)
    if loop is None or loop is not _innermost_loop(scope, other):
        return False
    bound = {each.id for each in nodes_in(loop, ast.Name) if isinstance(each.ctx, ast.Store)}
    for test in nodes_in(loop, ast.If):
        if _arm(test, one) != _arm(test, other):
            names = {each.id for each in inside(test.test) if isinstance(each, ast.Name)}
            if names.isdisjoint(bound):
                return False
    return True


def _innermost_loop(scope: ast.AST, node: ast.Call) -> _Loop | None:
    loops: list[_Loop] = [*nodes_in(scope, ast.For), *nodes_in(scope, ast.AsyncFor), *nodes_in(scope, ast.While)]
    around = [each for each in loops if is_inside(node, each)]
    return max(around, key=lambda each: each.lineno, default=None)


def _arm(test: ast.If, node: ast.AST) -> int:
    if any(is_inside(node, each) for each in test.body):
        return 1
    return 2 if any(is_inside(node, each) for each in test.orelse) else 0


def _pairs(one: _Put, other: _Put, by_place: bool) -> Iterator[tuple[_Operand, _Operand]]:
    """What `one` has made on the default device, and what is elsewhere in its place in `other`."""
    for (mine_at, mine), (theirs_at, theirs) in zip(_columns(one, by_place), _columns(other, by_place), strict=False):
        for mine_if, stayed in alternatives(mine):
            if not isinstance(stayed, Tensor) or stayed.device != DEFAULT or not stayed.ndim or not stayed.creations:
                continue
            for theirs_if, beside in alternatives(theirs):
                apart = isinstance(beside, Tensor) and relation(stayed.device, beside.device) is Relation.DIFFER
                if apart and compatible(mine_if, theirs_if):
                    yield (mine_at, stayed), (theirs_at, beside)  # type: ignore[misc]


def _columns(put: _Put, by_place: bool) -> list[tuple[ast.expr, Value]]:
    if not by_place:
        return [(put.node, put.value)]
    items = put.value.items if isinstance(put.value, Seq) else None
    written = put.node.elts if isinstance(put.node, (ast.Tuple, ast.List)) else []
    plain = len(written) == len(items or ())
    return [(written[place] if plain else put.node, each) for place, each in enumerate(items or ())]


FUNCTIONS = {f"torch.{name}": _note_joined for name in _JOINING}
METHODS = {"append": _note_append}
EVENTS = {Returned: _note_returned}
