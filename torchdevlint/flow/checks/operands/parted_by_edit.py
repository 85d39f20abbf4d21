"""Tensors of the CPU that an edit would part: one is to be made elsewhere, and meets one that stays where it is.

``torch.cat([torch.arange(n)[mask], torch.randperm(n)])``: made where the mask is, the first no longer goes with the
second. So an edit of the first alone only has the error come later.
"""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.events import Met
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.flow.state.devices import Origin, on_cpu
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.values import Site
from torchdevlint.model import Span


class _Memory:
    """What tensors of the CPU meet in one file."""

    def __init__(self) -> None:
        self.met: list[tuple[tuple[Site, ...], tuple[Site, ...]]] = []
        """The factories behind each two operands; none where no factory made one of them."""
        self.picked: list[tuple[tuple[Site, ...], tuple[Site, ...]]] = []
        """Those behind an index, and behind what it picks from."""
        self.beside: frozenset[Span] | None = None
        """The factories of which something that they meet stays on the CPU, when all of the file was run."""


def _note_meeting(event: Met) -> None:
    """Two operands on the CPU. An index of the CPU goes with any table, so that a table parts from nothing."""
    (_, one), (_, other) = event.one, event.other
    if one.device.origin is not Origin.DEFAULT and other.device.origin is not Origin.DEFAULT:
        return
    if not on_cpu(one.device) or not on_cpu(other.device) or one.ndim == 0 or other.ndim == 0:
        return
    if event.state.without_accelerator:
        return
    memory = event.frame.machine.memory(_Memory)
    if isinstance(event.node, ast.Subscript):
        memory.picked.append((other.creations, one.creations))
    else:
        memory.met.append((one.creations, other.creations))


def _settle(machine: Machine, fact: Fact) -> Fact:
    """A fact whose first factory meets what no safe edit takes along says so."""
    if not isinstance(fact, MixedDevices) or not fact.one_input or not fact.creations:
        return fact
    memory = machine.memory(_Memory)
    if memory.beside is None:
        memory.beside = frozenset(map(machine.span_of, _beside_what_stays(machine, memory)))
    return replace(fact, parts=True) if fact.creations[0].span in memory.beside else fact


def _beside_what_stays(machine: Machine, memory: _Memory) -> list[ast.AST]:
    """What `_Memory.beside` holds: tensors that meet are together, and stay if one of them does."""
    groups = _Groups()
    sites: dict[ast.AST, Site] = {}
    for one, other in memory.met:
        met = {each.node: each for each in (*one, *other)}
        sites |= met
        groups.join([*met, *(() if one and other else (None,))])
    for index, table in memory.picked:
        sites |= {each.node: each for each in (*index, *table)}
    left = {groups.of(None), *(groups.of(node) for node, each in sites.items() if not _goes_along(machine, each))}
    for index, table in memory.picked:
        if not table or any(groups.of(each.node) in left for each in table):
            left.update(groups.of(each.node) for each in index)
    return [node for node in sites if groups.of(node) in left]


class _Groups:
    """Factories whose tensors meet, directly or not; None stands for all that no factory made."""

    def __init__(self) -> None:
        self._next: dict[ast.AST | None, ast.AST | None] = {}

    def of(self, node: ast.AST | None) -> ast.AST | None:
        """The one that stands for all that a factory is together with."""
        following = self._next.get(node, node)
        while following is not node:
            node, following = following, self._next.get(following, following)
        return node

    def join(self, nodes: list[ast.AST | None]) -> None:
        following, last = self._next, self.of(nodes[0])
        for each in nodes:
            if each not in following or following[each] is not last:
                following[self.of(each)] = last
                following[each] = last


def _goes_along(machine: Machine, site: Site) -> bool:
    """Whether what a factory makes is reported as well, and its edit is no guess."""
    held = machine.held.get(("mixed", site))
    if held is None or not machine.explained.isdisjoint((("mixed", site), site)):
        return False
    return isinstance(held.fact, MixedDevices) and held.fact.one_input and not held.fact.creations[0].random


EVENTS = {Met: _note_meeting}
SETTLE = _settle
