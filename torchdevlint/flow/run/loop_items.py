"""What a loop goes over, told apart: in one round its target is one item, however often it is read."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.run.assignment import assign
from torchdevlint.flow.state.compared_keys import compared
from torchdevlint.flow.state.conditions import extended
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Choice, Conditions, Seq, Value


def bind_item(frame: Frame, loop: ast.For | ast.AsyncFor, element: Value, state: State) -> None:
    """Bind the target of a loop to what it goes over."""
    assign(frame, loop.target, _one_a_round(frame, loop, element), state)


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
