"""Values that are told apart by some of their fields only."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import Struct

S = TypeVar("S", bound=Struct)


def compared_by(*names: str) -> Callable[[type[S]], type[S]]:
    """Equality and hashes by these fields alone; the others tell where a value comes from.

    What a join finds equal is one value, so that a difference in these others alone makes no `Choice`.
    """
    key: Callable[[Any], object] = attrgetter(*names)

    def equal(self: S, other: object) -> bool:
        return other.__class__ is self.__class__ and key(self) == key(other)

    def hashed(self: S) -> int:
        return hash(key(self))

    def decorated(cls: type[S]) -> type[S]:
        cls.__eq__ = equal  # type: ignore[assignment]
        cls.__hash__ = hashed  # type: ignore[assignment]
        return cls

    return decorated
