"""What each place of a program may hold, and which units are to be run again as one of the places they read grows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from torchdevlint.flow.programs.placed.definitions import Token, bound_in
from torchdevlint.flow.scope.cuda_literals import Scope

Place = tuple[str, int, str]
"""A name of a function (by its file and line; 0 for the top level), or an attribute of any object ("", 0)."""
MOST_CALLS = 10_000
"""How many calls, each of one function that it may be of, are followed until nothing changes any more."""


def place_of(scope: Scope, name: str) -> Place:
    """What a name is in a function: one of its own, or of the top level."""
    is_local = scope.function is not None and name in bound_in(scope.function)
    return scope.file.path, scope.function.lineno if is_local and scope.function else 0, name


class HeldTokens:
    """Sets that only grow, by place. A unit is a function, or a statement of the top level, by its number."""

    def __init__(self, units: int) -> None:
        self._held: defaultdict[Place, set[Token]] = defaultdict(set)
        self._readers: defaultdict[Place, dict[int, None]] = defaultdict(dict)
        self._left: dict[int, None] = dict.fromkeys(range(units))
        self.unit: int | None = None
        """The one that is run, if one is."""
        self.calls_left = MOST_CALLS

    @property
    def is_complete(self) -> bool:
        """Whether nothing changes any more."""
        return not self._left

    def units(self) -> Iterator[int]:
        """The next unit to run, until nothing changes, or too many calls were followed."""
        while self._left and self.calls_left > 0:
            self.unit = next(iter(self._left))
            del self._left[self.unit]
            yield self.unit
        self.unit = None

    def get(self, place: Place) -> set[Token]:
        if self.unit is not None:
            self._readers[place][self.unit] = None
        return self._held[place]

    def put(self, place: Place, tokens: Iterable[Token]) -> None:
        held = self._held[place]
        before = len(held)
        held.update(tokens)
        if len(held) > before and self.unit is not None:
            self._left.update(self._readers[place])
