"""Moves whose results are thrown away, of tensors that later meet others which nothing moves: that works as it is."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.events import Met
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.tensors import DeadLoopMove, DiscardedMove
from torchdevlint.flow.state.devices import LOADER, stays_behind
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.tensors import sites_in
from torchdevlint.flow.state.values import Site, Tensor, Value


class _Memory:
    """The moves of one file whose results are thrown away."""

    def __init__(self) -> None:
        self.left_behind: set[Site] = set()
        """Where the tensors were made that a move was meant for."""
        self.lost: dict[ast.AST, frozenset[Site]] = {}
        """For each statement that throws a move away: where what it was meant for was made."""
        self.kept_together: set[Site] = set()
        """Where tensors were made that meet others which no move is meant for."""


def note_lost(machine: Machine, statement: ast.stmt, value: Value) -> None:
    """What a statement was to move is left behind: the move is the cause of what follows."""
    memory, sites = machine.memory(_Memory), sites_in(value)
    memory.left_behind.update(sites)
    memory.lost[statement] = memory.lost.get(statement, frozenset()) | sites
    machine.explain(*sites)
    machine.observe(Met, _note_meeting)


def explain(machine: Machine, batch: Value) -> None:
    """That the batch is where it was has its reason in the move that is lost."""
    if isinstance(batch, Tensor) and batch.device == LOADER and batch.steps:
        machine.explain(("batch", batch.steps[0].node))


def _note_meeting(event: Met) -> None:
    """Two operands: if one was to be moved and the other is on the CPU, the move would part them."""
    memory, one, other = event.frame.machine.memory(_Memory), event.one[1], event.other[1]
    for left, beside in ((one, other), (other, one)):
        found = memory.left_behind.intersection(left.creations)
        stays = bool(beside.creations) and beside.ndim != 0 and stays_behind(beside.device)
        if found and stays and memory.left_behind.isdisjoint(beside.creations):
            memory.kept_together |= found


def _settle(machine: Machine, fact: Fact) -> Fact:
    """A fact of a lost move that says so, when all of the file was run."""
    memory = machine.memory(_Memory)
    if not isinstance(fact, (DiscardedMove, DeadLoopMove)) or not memory.kept_together:
        return fact
    parted = [machine.span_of(each) for each, sites in memory.lost.items() if sites & memory.kept_together]
    return replace(fact, harmless=False) if fact.at in parted else fact


SETTLE = _settle
