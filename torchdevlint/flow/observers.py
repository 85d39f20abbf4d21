"""Who looks on while a file is run: the tables of checks and rules, by what they want to see.

A check is a module of `torchdevlint.flow.checks`, and so is a rule that looks for itself, with at least one of four
tables. ``EVENTS`` goes from kinds of events to the function that is called with each of them. ``FUNCTIONS`` goes from
public names of library functions and classes to what is called with each call of them and with what it gave;
``METHODS`` from names of methods to what is called with the receiver, before the call has any effect. All of them are
asked in the order of the modules' names, for every alternative that a name or receiver stands for, on every path.
``SETTLE`` is called with each fact that stands when all of the file was run, and gives it with what is known only then.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from msgspec import Struct

from torchdevlint.flow import checks
from torchdevlint.flow.events import LibraryReturned, MethodCalled
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.state.machine import Machine

Table = dict[Any, tuple[Callable[..., None], ...]]


class Observers(Struct, frozen=True):
    """Who is told of which events, and who says the last word on a fact."""

    events: Table = {}
    settling: tuple[Callable[[Machine, Fact], Fact], ...] = ()

    def settled(self, machine: Machine, fact: Fact) -> Fact:
        """The fact with what is known of it at the end of a file."""
        for settle in self.settling:
            fact = settle(machine, fact)
        return fact


NOBODY = Observers()


def observers_of(modules: Iterable[ModuleType]) -> Observers:
    """The checks of the inference, and these modules."""
    looking = sorted((*_checks(), *modules), key=lambda module: module.__name__.rpartition(".")[2])
    functions, methods = _joined(looking, "FUNCTIONS"), _joined(looking, "METHODS")

    def note_function(event: LibraryReturned) -> None:
        for observe in functions.get(event.name, ()):
            observe(event.frame, event.state, event.node, event.name, event.arguments, event.result)

    def note_method(event: MethodCalled) -> None:
        for observe in methods.get(event.node.func.attr, ()):  # type: ignore[attr-defined]
            observe(event.frame, event.state, event.node, event.receiver, event.arguments)

    events = _joined(looking, "EVENTS")
    for kind, note in ((LibraryReturned, note_function), (MethodCalled, note_method)):
        events[kind] = (*events.get(kind, ()), note)
    return Observers(events, tuple(each.SETTLE for each in looking if hasattr(each, "SETTLE")))


@cache
def _checks() -> tuple[ModuleType, ...]:
    names = sorted(each.name for each in pkgutil.iter_modules(checks.__path__))
    return tuple(import_module(f"{checks.__name__}.{name}") for name in names)


def _joined(looking: Sequence[ModuleType], attribute: str) -> Table:
    table: Table = {}
    for module in looking:
        for key, observe in getattr(module, attribute, {}).items():
            table[key] = (*table.get(key, ()), observe)
    return table
