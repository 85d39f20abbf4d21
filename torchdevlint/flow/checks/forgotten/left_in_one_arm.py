"""What one case of a function makes without the move that another case makes the very same with (TDL310).

``if x.ndim == 4: a = x.to(device).float() else: a = x.float()``: the cases are shapes or choices by name, so what comes
behind them takes either. And ``metric.to(device).update(a)`` in one case beside ``metric.update(b)`` in the other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchdevlint.flow.checks.forgotten.left_behind import record
from torchdevlint.flow.checks.forgotten.left_in_one_case import is_of_places, places, says_place
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path, is_cpu_spec, last_name, mentions_device, places_in
from torchdevlint.flow.scope.placing_functions import functions_that_place
from torchdevlint.flow.scope.uses import bound_in_loops
from torchdevlint.flow.state.machine import Machine
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, assignment_of, inside, nodes_in, own_nodes_in

_HOST = torch_api.MOVE_METHODS | {"numpy", "tolist", "item", "type_as", "pin_memory"}
_LEAVES_FUNCTION = (ast.Return, ast.Raise)


class _Made(NamedTuple):
    """What an arm does: its `form` without moves, what it is bound to, and the `move` that says a place, if any."""

    form: str
    name: str
    node: ast.expr
    move: ast.Call | None


def look(machine: Machine) -> None:
    """Record what is left so in a file that moves something."""
    for function in functions_that_place(machine.tree):
        if function in machine.pipeline:
            continue
        for arms in (*_choices(function), _returning(function)):
            for left, move in _left(function, arms):
                record(machine, function, "beside", left.node, move, at=left.node, name=left.name)


def _choices(function: FunctionNode) -> Iterator[list[Sequence[ast.stmt]]]:
    """The arms of each choice that asks for a shape, a kind or a name, and has an `else`."""
    below = {id(each.orelse[0]) for each in own_nodes_in(function, ast.If) if _is_elif(each)}
    for first in own_nodes_in(function, ast.If):
        if id(first) in below:
            continue
        arms, tests, asked = [first.body], [first.test], first
        while _is_elif(asked):
            asked = asked.orelse[0]  # type: ignore[assignment]
            arms.append(asked.body)
            tests.append(asked.test)
        if asked.orelse and all(map(_is_of_data, tests)):
            yield [*arms, asked.orelse]


def _is_elif(asked: ast.If) -> bool:
    return len(asked.orelse) == 1 and isinstance(asked.orelse[0], ast.If)


def _returning(function: FunctionNode) -> list[Sequence[ast.stmt]]:
    """The cases of a function that leave it, one after the other: ``if solver == "a": ..; return x``."""
    cases = [each for each in function.body if isinstance(each, ast.If) and not each.orelse]
    cases = [each for each in cases if isinstance(each.body[-1], _LEAVES_FUNCTION) and _is_of_data(each.test)]
    return [each.body for each in cases]


def _is_of_data(test: ast.expr) -> bool:
    """``x.ndim == 3``, ``len(x) > 0``, ``kind == "a"``, ``kind == Kind.A``: no flag, and nothing that says a place."""
    if isinstance(test, ast.BoolOp):
        return all(map(_is_of_data, test.values))
    if isinstance(test, ast.Call):
        return last_name(test.func) == "isinstance" and not is_of_places([test])
    if not isinstance(test, ast.Compare) or is_of_places([test]):
        return False
    return all(map(_is_fixed, test.comparators)) and not any(isinstance(each, (ast.Is, ast.IsNot)) for each in test.ops)


def _is_fixed(node: ast.expr) -> bool:
    """A number, a text, or a constant by its name: ``Kind.CONTINUOUS``."""
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, bool) and node.value is not None
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return all(map(_is_fixed, node.elts))
    return isinstance(node, (ast.Name, ast.Attribute)) and last_name(node).isupper()


def _left(function: FunctionNode, arms: Sequence[Sequence[ast.stmt]]) -> Iterator[tuple[_Made, ast.Call]]:
    """The only arm that does without a move what all others that do it move, to one place."""
    if len(arms) < 2:
        return
    made: dict[tuple[str, str], list[tuple[int, _Made]]] = {}
    for number, arm in enumerate(arms):
        for each in _made_in(function, arm):
            made.setdefault((each.name, each.form), []).append((number, each))
    for (name, _), held in made.items():
        left = [(number, each) for number, each in held if each.move is None]
        moves = [each.move for _, each in held if each.move is not None]
        places = {_place(each) for each in moves}
        if len(left) != 1 or len(places) != 1 or "" in places:
            continue
        apart = left[0][0] not in {number for number, each in held if each.move is not None}
        if apart and not _leaves(function, name, moves):
            yield left[0][1], moves[0]


def _made_in(function: FunctionNode, arm: Sequence[ast.stmt]) -> Iterator[_Made]:
    """What an arm binds to names, and the methods that it calls on what a loop goes through, also in arms of its own.

    Something else, once moved in place by one case, may be there in the other one.
    """
    for statement in arm:
        assigned = assignment_of(statement)
        if isinstance(statement, ast.If) and _is_of_data(statement.test):
            yield from _made_in(function, statement.body)
            yield from _made_in(function, statement.orelse)
        elif assigned is not None and len(assigned.targets) == 1 and isinstance(assigned.value, ast.Call):
            name = dotted_path(assigned.targets[0])
            form, moves = _form(assigned.value)
            if name is not None and len(moves) < 2 and form != name:
                yield _Made(form, name, assigned.value, moves[0] if moves else None)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            func = statement.value.func
            if isinstance(func, ast.Attribute) and func.attr not in _HOST:
                form, moves = _form(func.value)
                if len(moves) < 2 and form in bound_in_loops(function):
                    yield _Made(f"{form}.{func.attr}", form, func.value, moves[0] if moves else None)


def _form(node: ast.expr) -> tuple[str, list[ast.Call]]:
    """The text of an expression without its moves, and these: of ``torch.from_numpy(a).to(device)`` the former call."""
    moves: list[ast.Call] = []
    whole = node
    calls: list[str] = []
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if places(node):
            moves.append(node)
        elif node.func.attr in torch_api.DTYPE_METHODS or node.func.attr == "to":
            pass
        elif dotted_path(node.func) is None:
            calls.append(f".{node.func.attr}({', '.join(map(ast.unparse, arguments_of(node)))})")
        else:
            break
        node = node.func.value
    if any(mentions_device(each.id) for each in inside(node) if isinstance(each, ast.Name)):
        return ast.unparse(whole), moves
    return ast.unparse(node) + "".join(reversed(calls)), moves


def _place(move: ast.Call) -> str:
    """Where a move goes; empty for the CPU."""
    told = places_in(move)
    if told and is_cpu_spec(told[0]):
        return ""
    return ast.unparse(told[0]) if told else "cuda"


def _leaves(function: FunctionNode, name: str, moves: Sequence[ast.Call]) -> bool:
    """Whether what is bound is moved elsewhere too, read on the host, or given to who is told a place."""
    for each in nodes_in(function, ast.Attribute):
        if each.attr in _HOST and dotted_path(each.value) == name and not any(move.func is each for move in moves):
            return True
    for call in nodes_in(function, ast.Call):
        if says_place(call) and any(dotted_path(each) == name for each in arguments_of(call)):
            return True
    return False
