"""Who looks on while a file is run: the tables of checks and rules, by what they want to see.

A check is a module of `torchdevlint.flow.checks`, and so is a rule that looks for itself, with at least one of four
tables. ``EVENTS`` goes from kinds of events to the function that is called with each of them. ``FUNCTIONS`` goes from
public names of library functions and classes to what is called with each call of them and with what it gave;
``METHODS`` from names of methods to what is called with the receiver, before the call has any effect. All of them are
asked in the order of the modules' names, for every alternative that a name or receiver stands for, on every path.
``SETTLE`` is called with each fact that stands when all of the file was run, and gives it with what is known only then;
that of a module with other tables has nothing to add where none of them was asked. ``SAYING`` is no table, but words:
a module is told of events only in files that say one of them, as what looks for moves needs ``.to(``.

The keys of these tables are in `torchdevlint.index`, so that a module is imported when the first thing happens that it
looks on at.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from msgspec import Struct

from torchdevlint import index
from torchdevlint.flow import checks
from torchdevlint.flow.events import LibraryReturned, MethodCalled
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.state.machine import Machine

TABLES = ("EVENTS", "FUNCTIONS", "METHODS")
SETTLE = "SETTLE"
SAYING = "SAYING"
Observer = Callable[..., Any]


class Looking(Struct, frozen=True):
    """The dotted name of a module, and the keys of its tables, by the name of each table."""

    module: str
    tables: Mapping[str, tuple[str, ...]]


def told_by(module: ModuleType) -> Looking:
    """What a module that was imported looks on at. Kinds of events go by their names."""
    tables = {table: tuple(map(_key, getattr(module, table))) for table in TABLES if getattr(module, table, None)}
    if hasattr(module, SETTLE):
        tables[SETTLE] = ("every",)
    if hasattr(module, SAYING):
        tables[SAYING] = module.SAYING
    return Looking(module.__name__, tables)


def told_by_index(module: str, entry: Mapping[str, str]) -> Looking:
    """What the index has of a module."""
    return Looking(module, {each: tuple(entry[each].split()) for each in (*TABLES, SETTLE, SAYING) if each in entry})


class Observers:
    """Who is told of which events, and who says the last word on a fact."""

    def __init__(self, others: Iterable[Looking] = (), with_checks: bool = True) -> None:
        """The checks of the inference, and `others`."""
        own = (told_by_index(f"{checks.__name__}.{name}", each) for name, each in index.CHECKS.items())
        looking = sorted((*(own if with_checks else ()), *others), key=lambda each: each.module.rpartition(".")[2])
        self._modules: dict[tuple[str, str], list[str]] = {}
        """The modules that have a key in a table."""
        self._saying: dict[str, tuple[str, ...]] = {}
        """The words of which a file has one whose events a module is told of; none where it is told of all."""
        for each in looking:
            self._saying[each.module] = each.tables.get(SAYING, ())
            for table, keys in each.tables.items():
                for key in keys if table != SAYING else ():
                    self._modules.setdefault((table, key), []).append(each.module)
        self._looking = {each.module for each in looking if not {SETTLE}.issuperset(each.tables)}
        """The modules that are imported when the first thing happens that they look on at."""
        self._of_events: dict[tuple[type, str], Observer] = {}
        self._of_functions: dict[str, tuple[Observer, ...]] = {}
        self._of_methods: dict[str, tuple[Observer, ...]] = {}

    def in_file(self, text: str) -> Callable[[type], tuple[Observer, ...]]:
        """What is called with each event of a kind while a file with this text is run."""
        says: dict[str, bool] = {}

        def may_happen(module: str) -> bool:
            for word in (words := self._saying[module]):
                if word not in says:
                    says[word] = word in text
                if says[word]:
                    return True
            return not words

        def looking_on(kind: type) -> tuple[Observer, ...]:
            modules = filter(may_happen, self._modules.get(("EVENTS", kind.__name__), ()))
            return (*[self._of_event(kind, module) for module in modules], *self._of_names(kind))

        return looking_on

    def _of_event(self, kind: type, module: str) -> Observer:
        found = self._of_events.get((kind, module))
        if found is None:
            found = self._of_events[kind, module] = import_module(module).EVENTS[kind]
        return found

    def _of_names(self, kind: type) -> tuple[Observer, ...]:
        """What asks the tables that go by the names of what is called."""
        if kind is LibraryReturned:
            return (self._note_function,)
        return (self._note_method,) if kind is MethodCalled else ()

    def settled(self, machine: Machine, fact: Fact) -> Fact:
        """The fact with what is known of it at the end of a file."""
        for name in self._modules.get((SETTLE, "every"), ()):
            if name in sys.modules or name not in self._looking:
                fact = import_module(name).SETTLE(machine, fact)
        return fact

    def import_all(self) -> bool:
        """Import and execute all who look on; whether there was anything left to import or to execute."""
        from torchdevlint.deferred import execute_all

        missing = {name for names in self._modules.values() for name in names} - sys.modules.keys()
        for name in sorted(missing):
            import_module(name)
        return execute_all() or bool(missing)

    def _note_function(self, event: LibraryReturned) -> None:
        found = self._of_functions.get(event.name)
        if found is None:
            found = self._of_functions[event.name] = self._found("FUNCTIONS", event.name)
        for observe in found:
            observe(event.frame, event.state, event.node, event.name, event.arguments, event.result)

    def _note_method(self, event: MethodCalled) -> None:
        name = event.node.func.attr  # type: ignore[attr-defined]
        found = self._of_methods.get(name)
        if found is None:
            found = self._of_methods[name] = self._found("METHODS", name)
        for observe in found:
            observe(event.frame, event.state, event.node, event.receiver, event.arguments)

    def _found(self, table: str, key: Any) -> tuple[Observer, ...]:
        """What the tables of this name have for a key, in the order of the modules' names."""
        modules = map(import_module, self._modules.get((table, _key(key)), ()))
        return tuple(getattr(module, table)[key] for module in modules)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else key.__name__
