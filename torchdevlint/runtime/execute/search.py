"""Find values with which a program runs through the flagged lines, on a machine whose accelerators are the CPU.

Best first: what got furthest into the flagged file is changed next. A change is one that the exception suggests, the
next candidate of one slot, or an optional slot that is given after all. The order is fixed, and so is the number of
runs, so that the same program on the same torch gives the same answer.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from torchdevlint.runtime.execute.errors import told
from torchdevlint.runtime.execute.repair import changed, repairs
from torchdevlint.runtime.execute.slots import Slot
from torchdevlint.runtime.execute.values import DEFAULT, Description

MOST_RUNS = 150

Values = dict[str, Description]


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of the program came to: an error or none, and the lines of the file that it executed."""

    error: BaseException | None
    rows: frozenset[int]


@dataclass(slots=True)
class Found:
    """The outcome of a search. `values` is None if nothing ran; `why` then says how far the best run came.

    `all_of_it` is False where it ran and did not come to all that is wanted, for which it may take an accelerator, as
    behind ``if x.is_cuda``.
    """

    values: Values | None
    runs: int
    why: str = ""
    all_of_it: bool = True


def search(
    slots: Sequence[Slot], run: Callable[[Values], Run], wanted: Sequence[frozenset[int]], most: int = MOST_RUNS
) -> Found:
    """Values with which `run` ends without an error and comes to every one of the `wanted` statements (their rows).

    If there are none, those with which it ends without an error and comes to most of them.
    """
    start = {slot.key: slot.candidates[0] if slot.candidates else DEFAULT for slot in slots}
    queue: list[tuple[tuple[int, int, int], int, Values]] = [((0, 0, 0), 0, start)]
    seen = {_key(start)}
    runs = number = 0
    nearest: tuple[int, int, BaseException | None] = (-1, -1, None)
    quiet: tuple[int, Values | None] = (-1, None)
    while queue and runs < most:
        (_, cost, _), _, values = heapq.heappop(queue)
        outcome = run(values)
        runs += 1
        hit = sum(not rows.isdisjoint(outcome.rows) for rows in wanted)
        if outcome.error is None and hit == len(wanted):
            return Found(values, runs)
        if outcome.error is None and hit > quiet[0]:
            quiet = (hit, values)
        if (hit, len(outcome.rows)) > nearest[:2]:
            nearest = (hit, len(outcome.rows), outcome.error)
        for extra, neighbour in _changes(slots, values, outcome):
            key = _key(neighbour)
            if key not in seen:
                seen.add(key)
                number += 1
                rank = (-hit * 1000 - len(outcome.rows) + cost + extra, cost + extra, number)
                heapq.heappush(queue, (rank, number, neighbour))
    hit, _, error = nearest
    if quiet[1] is not None:
        return Found(quiet[1], runs, "no values were found with which it comes to the flagged expression", False)
    what = "none was left for this one" if error is None else told(error)
    return Found(None, runs, f"no values were found with which it runs on the CPU ({runs} tries): {what}")


def _changes(slots: Sequence[Slot], values: Values, outcome: Run) -> Iterator[tuple[int, Values]]:
    """Neighbours of `values`, each with what it costs."""
    if outcome.error is not None:
        given = {slot.key: values[slot.key] for slot in slots}
        for number, (key, description) in enumerate(repairs(outcome.error, given)):
            yield 1 + number, changed(values, key, description)
    for place, slot in enumerate(slots):
        for number, candidate in enumerate(slot.candidates):
            if candidate != values[slot.key]:
                price = 2 if outcome.error is None and slot.optional else 3
                yield price + number + place, {**values, slot.key: candidate}


def _key(values: Values) -> str:
    return json.dumps(values, sort_keys=True)
