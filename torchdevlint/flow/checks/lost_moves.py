"""Moves whose results are thrown away, of tensors that later meet others which nothing moves: that works as it is."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.tensors import DeadLoopMove, DiscardedMove
from torchdevlint.flow.state.devices import stays_behind
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.tensors import sites_in
from torchdevlint.flow.state.values import Tensor, Value


def note_lost(machine: Machine, statement: ast.stmt, value: Value) -> None:
    """What a statement was to move is left behind: the move is the cause of what follows."""
    sites = sites_in(value)
    machine.left_behind.update(sites)
    machine.lost_moves[statement] = machine.lost_moves.get(statement, frozenset()) | sites


def note_meeting(machine: Machine, one: Tensor, other: Tensor) -> None:
    """Two operands: if one was to be moved and the other is on the CPU, the move would part them."""
    for left, beside in ((one, other), (other, one)):
        found = machine.left_behind.intersection(left.creations)
        stays = bool(beside.creations) and beside.ndim != 0 and stays_behind(beside.device)
        if found and stays and machine.left_behind.isdisjoint(beside.creations):
            machine.kept_together |= found


def settled(machine: Machine, fact: Fact) -> Fact:
    """A fact of a lost move that says so, when all of the file was run."""
    if not isinstance(fact, (DiscardedMove, DeadLoopMove)) or not machine.kept_together:
        return fact
    parted = [machine.span_of(each) for each, sites in machine.lost_moves.items() if sites & machine.kept_together]
    return replace(fact, harmless=False) if fact.at in parted else fact
