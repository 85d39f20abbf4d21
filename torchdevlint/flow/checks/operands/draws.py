"""Random numbers that are drawn by a tensor, or for one: made on another device, it would bring others."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.events import Drawn, ModuleCalled
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.flow.kinds.drawing import is_drawn_by
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.tensors import sites_in
from torchdevlint.flow.state.values import Library


class _Memory:
    """What random numbers were drawn by, or for, in one file."""

    def __init__(self) -> None:
        self.drawn_from: set[ast.AST] = set()
        """Calls that made it: on another device the numbers are others."""


def _note_drawn(event: Drawn | ModuleCalled) -> None:
    """A call of what draws, such as ``torch.bernoulli(p)``, ``x.normal_()``, ``self.dropout(x)``."""
    callee = event.function if type(event) is Drawn else event.module  # type: ignore[union-attr]
    if type(event) is not Drawn and not is_drawn_by(event.node, callee):
        return
    held = [callee, *(callee.children if isinstance(callee, Library) else ()), *event.arguments.values]
    drawn_from = event.frame.machine.memory(_Memory).drawn_from
    drawn_from.update(site.node for value in held for site in sites_in(value))


EVENTS = {Drawn: _note_drawn, ModuleCalled: _note_drawn}


def _settle(machine: Machine, fact: Fact) -> Fact:
    """A fact that says so of the tensor that it is about, whose story is known when all of the file was run."""
    drawn_from = machine.memory(_Memory).drawn_from
    if not drawn_from or not isinstance(fact, MixedDevices) or not fact.creations:
        return fact
    first, *rest = fact.creations
    spans = {machine.span_of(each) for each in drawn_from}
    return replace(fact, creations=(replace(first, random=True), *rest)) if first.span in spans else fact


SETTLE = _settle
