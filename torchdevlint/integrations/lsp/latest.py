"""Results for what is shown, each worked out once for all who ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from msgspec import Struct
from pygls.exceptions import JsonRpcContentModified

from torchdevlint.integrations.lsp.document import Shown

T = TypeVar("T")


class StaleError(JsonRpcContentModified):
    """What was asked about is no longer what is shown."""


class _Asked(Struct, frozen=True):
    """What is being worked out, and the round in which that was asked for."""

    shown: Shown
    round: int
    result: asyncio.Future[Any]


class _Known(Struct, frozen=True):
    shown: Shown
    round: int
    result: Any


class Latest(Generic[T]):
    """The results of a function for what is shown, by its URI. What is worked out for an older text is given up.

    A new round makes everything be worked out anew: a file or a setting has changed that all of it may depend on.
    """

    def __init__(self, shown: Callable[[str], Shown | None], work: Callable[[Shown], asyncio.Future[T]]) -> None:
        self._shown, self._work = shown, work
        self.round = 0
        """Grows with each new one."""
        self._asked: dict[str, _Asked] = {}
        self._known: dict[str, _Known] = {}

    def new_round(self) -> None:
        self.round += 1

    def forget(self, unit: str) -> None:
        self._known.pop(unit, None)
        if (asked := self._asked.pop(unit, None)) is not None:
            asked.result.cancel()

    def last(self, unit: str) -> T | None:
        """The last result there was, whatever was shown then."""
        known = self._known.get(unit)
        return None if known is None else known.result

    def is_current(self, unit: str, shown: Shown) -> bool:
        """Whether the last result is one for this."""
        known = self._known.get(unit)
        return known is not None and (known.shown, known.round) == (shown, self.round)

    def expect(self, unit: str, shown: Shown) -> None:
        """Raises StaleError unless this is still what is shown."""
        if self._shown(unit) != shown:
            raise StaleError

    async def of(self, unit: str, shown: Shown) -> T:
        """The result for what is shown now. Raises StaleError if that changes meanwhile."""
        while True:
            asked = self._asked.get(unit)
            if self.is_current(unit, shown):
                known: T = self._known[unit].result
                return known
            if asked is None or (asked.shown, asked.round) != (shown, self.round):
                if asked is not None:
                    asked.result.cancel()
                asked = self._asked[unit] = _Asked(shown, self.round, self._work(shown))
            try:
                result = await asyncio.shield(asked.result)
            except asyncio.CancelledError:
                if not asked.result.cancelled():
                    raise  # it is who asks that was cancelled
                self.expect(unit, shown)
                continue
            finally:
                if asked.result.done() and self._asked.get(unit) is asked:
                    del self._asked[unit]
            self.expect(unit, shown)
            if asked.round == self.round:
                self._known[unit] = _Known(shown, asked.round, result)
