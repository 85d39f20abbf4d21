"""Calls by the name of a method, where it is not known which object that is called of: who has it brings the class."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchdevlint.flow.events import Called
from torchdevlint.flow.run.observing import observe
from torchdevlint.flow.state.arrivals import Parameter
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State, one_of_few
from torchdevlint.flow.state.values import UNKNOWN, Choice, Closure, Value


class NamedCalls:
    """What a run of a file gives to methods of one name of objects that are not known."""

    def __init__(self, name: str) -> None:
        self._name = name
        nothing = ast.arguments([], [], None, [], [], None, [])
        self._function = ast.FunctionDef(name, nothing, [ast.Pass()], [])

    def looking_on(self, kind: type) -> tuple[Callable[..., None], ...]:
        """What is called with events of a kind."""
        return (self._note,) if kind is Called else ()

    def given(self, called: list[Parameter]) -> Iterator[tuple[Parameter, tuple[str, int, str]]]:
        """Those of some parameters that stand for such a method, with their place or keyword."""
        for function, name in called:
            if function is self._function:
                yield (function, name), ("", int(name), "") if name.isdigit() else ("", 0, name)

    def _note(self, event: Called) -> None:
        called = event.node.func
        if not isinstance(called, ast.Attribute) or called.attr != self._name or not _is_open(event.function):
            return
        arguments, frame = event.arguments, event.frame
        if arguments.starred or arguments.double_starred:
            return
        given = {str(place): value for place, value in enumerate(arguments.values)} | arguments.keyword_values
        at = event.node, frame
        activation = Frame(frame.machine, frame.entry, Closure(()), self._name, self._function, called_at=at)
        observe(activation, State(given))


def _is_open(receiver: Value) -> bool:
    """Whether it is not known whose method is called: of anything, or one of more objects than are followed."""
    there = one_of_few(receiver) if isinstance(receiver, Choice) else receiver
    return any(each == UNKNOWN for _, each in alternatives(there))
