"""What a function leaves behind, as a fact, whichever check has seen it (TDL310)."""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.devices import LeftBehind
from torchdevlint.flow.scope.imported_names import imports_torch
from torchdevlint.flow.scope.joined_moved import is_joined_of_moved
from torchdevlint.flow.scope.names import dotted_path, first_name
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.others import named
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Value
from torchdevlint.source.functions import FunctionNode

Scope = FunctionNode | ast.Module


def record(
    machine: Machine,
    scope: Scope | str,
    among: str,
    left: ast.expr | str,
    move: ast.expr,
    *,
    at: ast.AST,
    name: str = "",
    move_at: ast.AST | None = None,
    state: State | None = None,
) -> None:
    """Record that `scope` leaves `left` where it is; see `LeftBehind`. One is recorded at each place.

    `move_at` is shown for `move`, where it is another place. What was seen on a path holds in that `state`. Nothing is
    left behind that is made of what was moved before.
    """
    if isinstance(scope, FunctionNode) and isinstance(left, ast.expr) and is_joined_of_moved(scope, left):
        return
    key = ("left behind", at)

    def make() -> LeftBehind:
        text = left if isinstance(left, str) else machine.text_of(left)
        move_span = machine.span_of(move_at or move)
        return LeftBehind(machine.span_of(at), _name_of(scope), among, text, machine.text_of(move), move_span, name)

    if state is None:
        machine.record_anyway(key, make)
    else:
        machine.record(key, make, state)


class _Memory:
    """How often one file moves anything, by its text; not counted yet at first."""

    def __init__(self) -> None:
        self.moves = -1


def moves_any(machine: Machine, least: int = 1) -> bool:
    """Whether a file that uses torch moves anything, `least` times or more, by its text."""
    memory, text = machine.memory(_Memory), machine.reading.source.text
    if memory.moves < 0:
        memory.moves = text.count(".to(") + text.count(".cuda(")
    return memory.moves >= least and imports_torch(machine.tree)


def callee_of(machine: Machine, call: ast.Call) -> Value | None:
    """What is called by a name of the file, be it imported from the project; None if that is not seen."""
    first = machine.globals.get(first_name(dotted_path(call.func) or ""))
    return named(first, call.func, machine.others)


def _name_of(scope: Scope | str) -> str:
    if isinstance(scope, str):
        return scope
    return "the program" if isinstance(scope, ast.Module) else scope.name
