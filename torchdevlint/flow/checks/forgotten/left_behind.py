"""What a function leaves behind, as a fact, whichever check has seen it (TDL310)."""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.devices import LeftBehind
from torchdevlint.flow.state.machine import Machine
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
) -> None:
    """Record that `scope` leaves `left` where it is; see `LeftBehind`. One is recorded at each place.

    `move_at` is shown for `move`, where it is another place.
    """
    machine.record_anyway(
        ("left behind", at),
        lambda: LeftBehind(
            machine.span_of(at),
            _name_of(scope),
            among,
            left if isinstance(left, str) else machine.text_of(left),
            machine.text_of(move),
            machine.span_of(move_at or move),
            name,
        ),
    )


def _name_of(scope: Scope | str) -> str:
    if isinstance(scope, str):
        return scope
    return "the program" if isinstance(scope, ast.Module) else scope.name
