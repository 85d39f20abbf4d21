"""Values with which a target runs on the control machine, and others that lead it over lines not seen before.

Best first, as the search of `verify`: what got furthest into the project is changed next. The order is fixed, and so is
the number of runs.
"""

from __future__ import annotations

import heapq
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from torchdevlint.runtime.execute.errors import told
from torchdevlint.runtime.execute.repair import changed, repairs
from torchdevlint.runtime.execute.slots import Slot
from torchdevlint.runtime.execute.values import DEFAULT, Description

MOST_VARIANTS = 4
MOST_QUIET = 3
"""Variants with another switch, which may choose within a line."""
AFTERWARDS = 24
"""Runs that are spent on other ways through a target, once it has run."""

WITHOUT_BODY = 4
"""Further runs for what says that it is not implemented, as the methods of base classes do."""

Values = Mapping[str, Description]
Row = tuple[str, int]


@dataclass(slots=True)
class Explored:
    """`variants` are values that ran, each over lines that those before it did not come to, or with another switch.

    `why` says why there is none.
    """

    variants: list[Values] = field(default_factory=list)
    runs: int = 0
    why: str = ""


def explore(
    slots: Sequence[Slot],
    run: Callable[[Values], BaseException | None],
    watch: Watch,
    counts: Callable[[Values], bool],
    most: int,
) -> Explored:
    """Run a target with one set of values after the other; those that do not count are no variants."""
    found = Explored()
    start: Values = {slot.key: slot.candidates[0] if slot.candidates else DEFAULT for slot in slots}
    queue: list[tuple[int, int, int, Values]] = [(0, 0, 0, start)]
    seen, covered = {_key(start)}, set[Row]()
    number, left = 0, most
    nearest: tuple[int, BaseException | None] = (-1, None)
    ran, quiet = False, list[Values]()
    while queue and left > 0 and len(found.variants) < MOST_VARIANTS:
        _, cost, _, values = heapq.heappop(queue)
        watch.rows = set()
        error = run(values)
        found.runs, left = found.runs + 1, left - 1
        if isinstance(error, NotImplementedError) and not ran:
            left = min(left, WITHOUT_BODY)
        rows = frozenset(watch.rows)
        if error is None:
            if not ran:
                left = min(left, AFTERWARDS)
            ran = True
            if counts(values) and (not found.variants or not rows <= covered):
                found.variants.append(values)
                covered |= rows
            elif counts(values) and _switches(values) != _switches(start) and len(quiet) < MOST_QUIET:
                quiet.append(values)
        if len(rows) > nearest[0] and error is not None:
            nearest = (len(rows), error)
        for extra, neighbour in _changes(slots, values, error):
            key = _key(neighbour)
            if key not in seen:
                seen.add(key)
                number += 1
                rank = cost + extra - (len(rows) if error is not None else len(rows - covered))
                heapq.heappush(queue, (rank, cost + extra, number, neighbour))
    found.variants += quiet
    if not found.variants:
        error = nearest[1]
        found.why = (
            "it takes no tensor"
            if ran or error is None
            else f"no values were found ({found.runs} tries): {told(error)}"
        )
    return found


def _changes(slots: Sequence[Slot], values: Values, error: BaseException | None) -> Iterator[tuple[int, Values]]:
    if error is not None:
        for number, (path, description) in enumerate(repairs(error, values)):
            yield 1 + number, changed(values, path, description)
    for place, slot in enumerate(slots):
        for number, candidate in enumerate(slot.candidates):
            if candidate != values[slot.key]:
                price = 2 if error is None and slot.optional else 3
                yield price + number + place, {**values, slot.key: candidate}


def _switches(values: Values) -> list[str]:
    return [key for key, one in values.items() if one["is"] == "value" and one["value"] is True]


def _key(values: Values) -> str:
    return json.dumps(values, sort_keys=True, default=str)


class Watch:
    """While entered, remembers which lines of the files below a folder run; a context manager."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.rows: set[Row] = set()
        self._known: dict[CodeType, bool] = {}

    def __enter__(self) -> Watch:
        threading.settrace(self._call)
        sys.settrace(self._call)
        return self

    def __exit__(self, *_exc_info: object) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        ours = self._known.get(code)
        if ours is None:
            ours = self._known[code] = os.path.realpath(code.co_filename).startswith(self.root)
        return self._line if ours else None

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            self.rows.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line
