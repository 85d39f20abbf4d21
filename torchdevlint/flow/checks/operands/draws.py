"""Random numbers that are drawn by a tensor, or for one: made on another device, it would bring others."""

from __future__ import annotations

import ast
from functools import lru_cache

from msgspec.structs import replace

from torchdevlint.flow.events import Called, ModuleCalled
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import last_name
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.tensors import sites_in
from torchdevlint.flow.state.values import Library
from torchdevlint.source.nodes import nodes_in


class _Memory:
    """What random numbers were drawn by, or for, in one file."""

    def __init__(self) -> None:
        self.drawn_from: set[ast.AST] = set()
        """Calls that made it: on another device the numbers are others."""


def _note_call(event: Called | ModuleCalled) -> None:
    """A call of what may draw, such as ``torch.bernoulli(p)``, ``x.normal_()``, ``self.dropout(x)``."""
    named, callee = event.node.func, event.function if type(event) is Called else event.module  # type: ignore[union-attr]
    name = named.attr if type(named) is ast.Attribute else named.id if type(named) is ast.Name else ""
    if not _is_drawing(name) and not (type(callee) is Library and _is_drawing(callee.name)):
        return
    held = [callee, *(callee.children if isinstance(callee, Library) else ()), *event.arguments.values]
    drawn_from = event.frame.machine.memory(_Memory).drawn_from
    drawn_from.update(site.node for value in held for site in sites_in(value))


EVENTS = {Called: _note_call, ModuleCalled: _note_call}


def may_draw(node: ast.Call) -> bool:
    """Whether a call draws random numbers, as far as the name says it by which it is made."""
    return _is_drawing(last_name(node.func))


def draws(function: ast.AST) -> bool:
    """Whether the code of a function does so anywhere."""
    calls = nodes_in(function, ast.Call)
    return any(may_draw(each) or last_name(each.func) in torch_api.RANDOM_FACTORIES for each in calls)


@lru_cache(maxsize=4096)
def _is_drawing(name: str) -> bool:
    name = name.rpartition(".")[2]
    return "drop" in name.lower() or name.removesuffix("_") in torch_api.DRAWING


def _settle(machine: Machine, fact: Fact) -> Fact:
    """A fact that says so of the tensor that it is about, whose story is known when all of the file was run."""
    drawn_from = machine.memory(_Memory).drawn_from
    if not drawn_from or not isinstance(fact, MixedDevices) or not fact.creations:
        return fact
    first, *rest = fact.creations
    spans = {machine.span_of(each) for each in drawn_from}
    return replace(fact, creations=(replace(first, random=True), *rest)) if first.span in spans else fact


SETTLE = _settle
