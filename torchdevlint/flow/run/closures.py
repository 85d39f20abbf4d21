"""What nested functions leave in the containers of the functions around them: ``kept["x"] = out``."""

from __future__ import annotations

from collections.abc import Sequence

from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import UNKNOWN, Func, Value


def kept_around(ends: Sequence[State]) -> dict[str, Value]:
    """The names of functions around whose containers were written to, with what they hold at the end."""
    found: dict[str, Value] = {}
    for name in {each: None for end in ends for each in end.paths if each.isidentifier()}:
        held = [end.paths[name] for end in ends if name in end.paths]
        found[name] = held[0] if all(each == held[0] for each in held) else UNKNOWN
    return found


def keep_around(frame: Frame, function: Func, kept: Sequence[tuple[str, Value]], state: State) -> None:
    """Let the function that defines a nested one see what that left in its containers, where it calls it."""
    if kept and any(scope is frame.names for scope in function.closure.scopes[:-1]):
        state.env.update((name, value) for name, value in kept if name in state.env)
