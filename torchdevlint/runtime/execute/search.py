"""Find values with which a program runs through the flagged lines, on a machine whose accelerators are the CPU.

Best first: what got furthest into the flagged file is changed next. A change is one that the exception suggests, the
next candidate of one slot, or an optional slot that is given after all. The order is fixed, and so is the number of
runs, so that the same program on the same torch gives the same answer.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from torchdevlint.runtime.execute.alarm import TooLongError
from torchdevlint.runtime.execute.called import INIT, RECEIVER, Description
from torchdevlint.runtime.execute.changes import changed, other_sizes, smallest, with_siblings
from torchdevlint.runtime.execute.errors import told
from torchdevlint.runtime.execute.repair import repairs
from torchdevlint.runtime.execute.slots import Slot
from torchdevlint.runtime.execute.values import DEFAULT

MOST_RUNS = 150
SEEN = 100_000
"""What it is worth that values were seen in use: more than all lines that others come to."""

Values = Mapping[str, Description]


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of the program came to: an error or none, and the lines of the file that it executed.

    `decides` are the keys of slots that the failing statement read, or the tests that kept it from what is wanted, the
    nearest first; empty where nothing is known.
    """

    error: BaseException | None
    rows: frozenset[int]
    decides: Sequence[str] = ()


@dataclass(slots=True)
class Found:
    """The outcome of a search. `values` is None if nothing ran; `why` then says how far the best run came.

    `all_of_it` is False where it ran and did not come to all that is wanted, for which it may take an accelerator, as
    behind ``if x.is_cuda``. `later` is the error of a program that came through all that is wanted and failed then.
    """

    values: Values | None
    runs: int
    why: str = ""
    all_of_it: bool = True
    later: str = ""


def search(
    slots: Sequence[Slot],
    run: Callable[[Values], Run],
    wanted: Sequence[frozenset[int]],
    most: int = MOST_RUNS,
    seen: Sequence[Values] = (),
    skip: int = 0,
) -> Found:
    """Values with which `run` ends without an error and comes to every one of the `wanted` statements (their rows).

    If there are none, those with which it comes to all of them before it fails; if there are none of these, those with
    which it ends without an error and comes to most of them. What was `seen` in use is
    run first, in its order. So many of the first values that would do are left out as `skip` says.
    """
    further = skip > 0
    frontier = Frontier(at_first(slots))
    for number, values in enumerate(seen):
        frontier.extend([(number, values)], 0, SEEN)
    runs = 0
    nearest: tuple[int, int, BaseException | None] = (-1, -1, None)
    quiet: tuple[int, Values | None] = (-1, None)
    through: tuple[Values, BaseException] | None = None
    while frontier and runs < most:
        cost, values = frontier.pop()
        outcome = run(values)
        runs += 1
        hit = sum(not rows.isdisjoint(outcome.rows) for rows in wanted)
        if outcome.error is None and hit == len(wanted) and not skip:
            return Found(values, runs)
        if outcome.error is None and hit > quiet[0]:
            quiet = (hit, values)
        if outcome.error is not None and wanted and hit == len(wanted) and through is None:
            through = values, outcome.error
        if (hit, len(outcome.rows)) > nearest[:2]:
            nearest = (hit, len(outcome.rows), outcome.error)
        if outcome.error is None:
            skip -= hit == len(wanted)
            frontier.extend(resized(slots, values), max(cost, 0), hit * 1000 + len(outcome.rows))
        if isinstance(outcome.error, TooLongError):
            frontier.extend([(1, {**values, **smallest(_ours(slots, values))})], max(cost, 0), len(outcome.rows) * 1000)
        free = [slot for slot in slots if RECEIVER not in values or not slot.key.startswith(INIT)]
        neighbours = changes(free, values, outcome.error, outcome.decides)
        frontier.extend(neighbours, max(cost, 0), hit * 1000 + len(outcome.rows))
    hit, _, error = nearest
    if further:
        return Found(None, runs, "no others were found")
    if through is not None:
        return Found(through[0], runs, _no_values(runs, through[1]), later=told(through[1]))
    if quiet[1] is not None:
        return Found(quiet[1], runs, "no values were found with which it comes to the flagged expression", False)
    return Found(None, runs, _no_values(runs, error))


def _no_values(runs: int, error: BaseException | None) -> str:
    if isinstance(error, TooLongError):
        return f"the search for values timed out: a run takes too long ({runs} tries)"
    what = "none was left for this one" if error is None else told(error)
    return f"no values were found with which it runs on the CPU ({runs} tries): {what}"


class Frontier:
    """Values that are still to be run, the best first and none of them twice."""

    def __init__(self, start: Values) -> None:
        self._queue: list[tuple[int, int, int, Values]] = []
        self._seen: set[str] = set()
        self.extend([(0, start)], 0, 0)

    def __bool__(self) -> bool:
        return bool(self._queue)

    def pop(self) -> tuple[int, Values]:
        """The best values, with what it costs to come to them."""
        _, cost, _, values = heapq.heappop(self._queue)
        return cost, values

    def extend(self, neighbours: Iterable[tuple[int, Values]], cost: int, worth: int) -> None:
        """Neighbours, each with what its change costs, of values that cost `cost` and are `worth` following."""
        for extra, values in neighbours:
            key = json.dumps(values, sort_keys=True, default=str)
            if key not in self._seen:
                self._seen.add(key)
                heapq.heappush(self._queue, (cost + extra - worth, cost + extra, len(self._seen), values))


def resized(slots: Sequence[Slot], values: Values) -> Iterator[tuple[int, Values]]:
    """Neighbours of values that run: tensors of other sizes, which may choose another branch."""
    ours = _ours(slots, values)
    for number, (path, description) in enumerate(other_sizes(ours)):
        yield 4 + number, {**values, **changed(ours, path, description)}


def _ours(slots: Sequence[Slot], values: Values) -> dict[str, Description]:
    return {slot.key: values[slot.key] for slot in slots if slot.key in values}


def at_first(slots: Sequence[Slot]) -> Values:
    """The likeliest value of each slot."""
    return {slot.key: slot.candidates[0] if slot.candidates else DEFAULT for slot in slots}


def changes(
    slots: Sequence[Slot], values: Values, error: BaseException | None, decides: Sequence[str] = ()
) -> Iterator[tuple[int, Values]]:
    """Neighbours of `values`, each with what it costs. What no slot is for stays as it is.

    The slots that decide are changed before all others.
    """
    ours = _ours(slots, values)
    if error is not None:
        found = with_siblings(ours, repairs(error, ours))
        first = sorted(found, key=lambda change: bool(decides) and change[0][0] not in decides)
        for number, (path, description) in enumerate(first):
            yield 1 + number, {**values, **changed(ours, path, description)}
    rank = {key: place for place, key in enumerate(decides)}
    for place, slot in enumerate(sorted(slots, key=lambda slot: rank.get(slot.key, len(rank)))):
        for number, candidate in enumerate(slot.candidates):
            if candidate != values.get(slot.key, DEFAULT):
                price = 2 if error is None and slot.optional else 3
                yield price + number + place, {**values, slot.key: candidate}
