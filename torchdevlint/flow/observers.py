"""Who looks on: the tables of all checks, by what they want to see.

A check is a module of `torchdevlint.flow.checks` with at least one of three tables. ``EVENTS`` goes from kinds of
events to the function that is called with each of them. ``FUNCTIONS`` goes from public names of library functions and
classes to what is called with each call of them and with what it gave; ``METHODS`` from names of methods to what is
called with the receiver, before the call has any effect. All of them are asked in the order of the checks' names, for
every alternative that a name or receiver stands for, on every path. ``SETTLE`` is called with each fact that stands
when all of the file was run, and gives it with what is known only then.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from torchdevlint.flow import checks
from torchdevlint.flow.events import LibraryReturned, MethodCalled
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.state.machine import Machine

Table = dict[Any, tuple[Callable[..., None], ...]]


def _modules() -> Iterator[ModuleType]:
    for found in sorted(each.name for each in pkgutil.iter_modules(checks.__path__)):
        yield import_module(f"{checks.__name__}.{found}")


_CHECKS = tuple(_modules())


def _joined(attribute: str) -> Table:
    table: Table = {}
    for check in _CHECKS:
        for key, observe in getattr(check, attribute, {}).items():
            table[key] = (*table.get(key, ()), observe)
    return table


_FUNCTIONS = _joined("FUNCTIONS")
_METHODS = _joined("METHODS")


def _note_function(event: LibraryReturned) -> None:
    for observe in _FUNCTIONS.get(event.name, ()):
        observe(event.frame, event.state, event.node, event.name, event.arguments, event.result)


def _note_method(event: MethodCalled) -> None:
    for observe in _METHODS.get(event.node.func.attr, ()):  # type: ignore[attr-defined]
        observe(event.frame, event.state, event.node, event.receiver, event.arguments)


OBSERVERS: Table = {**_joined("EVENTS"), LibraryReturned: (_note_function,), MethodCalled: (_note_method,)}

_SETTLING: tuple[Callable[[Machine, Fact], Fact], ...] = tuple(
    each.SETTLE for each in _CHECKS if hasattr(each, "SETTLE")
)


def settled(machine: Machine, fact: Fact) -> Fact:
    """The fact with what checks know of it at the end of a file."""
    for settle in _SETTLING:
        fact = settle(machine, fact)
    return fact
