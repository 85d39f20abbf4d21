"""What a loop goes over, told apart: in one round its target is one item, however often it is read.

An item of a dict that each round replaces is what it was before the loop.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from msgspec.structs import replace

from torchdevlint.flow.run.assignment import assign
from torchdevlint.flow.scope.replaced_in_turn import replaced_in_turn
from torchdevlint.flow.state.compared_keys import compared
from torchdevlint.flow.state.conditions import extended
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Choice, Conditions, Seq, Value


def start_of_round(
    frame: Frame, loop: ast.For | ast.AsyncFor, element: Value, before: State
) -> Callable[[State], None]:
    """What begins each round: the target is bound, and a dict whose items are replaced in turn is as it was."""
    replaced = replaced_in_turn(loop) if isinstance(loop, ast.For) else ""
    held = before.env.get(replaced) or before.paths.get(replaced)

    def start(state: State) -> None:
        if held is not None:
            state.bind(replaced, held)
        assign(frame, loop.target, _one_a_round(frame, loop, element), state)

    return start


def _one_a_round(frame: Frame, loop: ast.For | ast.AsyncFor, element: Value) -> Value:
    """An element of which several are known, each under a condition of the round that excludes the others.

    Else ``pad = value.new_zeros(3)`` would be made of one item, and meet another one.
    """
    if isinstance(element, Seq) and element.items is not None:
        items = tuple(_one_a_round(frame, loop, each) for each in element.items)
        return element if items == element.items else replace(element, items=items)
    if not isinstance(element, Choice):
        return element
    asked = f"{frame.activation}.{frame.loop_round}:item of the loop in line {loop.lineno}"
    kept = [(extended(at, _is_item(asked, number)), each) for number, (at, each) in enumerate(element.alternatives)]
    return Choice(tuple(kept))


def _is_item(asked: str, number: int) -> Conditions:
    return ((compared(f"{asked}: {number}", asked, frozenset({number})), True),)
