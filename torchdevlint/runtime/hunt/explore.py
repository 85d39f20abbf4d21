"""Values with which a target runs on the control machine, and others that lead it over lines not seen before.

Best first, as the search of `verify`: what got furthest into the project is changed next. The order is fixed, and so is
the number of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torchdevlint.runtime.execute.called import INIT, RECEIVER, Values
from torchdevlint.runtime.execute.errors import told
from torchdevlint.runtime.execute.lines import LineWatch, Row
from torchdevlint.runtime.execute.search import Frontier, at_first, changes
from torchdevlint.runtime.execute.slots import Slot

MOST_VARIANTS = 4
MOST_QUIET = 3
"""Variants with another switch or word, which may choose within a line."""
AFTERWARDS = 24
"""Runs that are spent on other ways through a target, once it has run."""

WITHOUT_BODY = 4
"""Further runs for what says that it is not implemented, as the methods of base classes do."""


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
    watch: LineWatch,
    counts: Callable[[Values], bool],
    most: int,
    seen: Sequence[Values] = (),
    starts: Sequence[Values] = (),
    decides: Callable[[BaseException], Sequence[str]] = lambda error: (),
) -> Explored:
    """Run a target with one set of values after the other; those that do not count are no variants.

    The values of calls that were `seen` come first. `starts` are instances that were seen, to be called with values
    that are searched for; they come before those that are searched for as well. `decides` gives the keys of the slots
    that an error has to do with, which are changed first.
    """
    search = _Search(slots, run, watch, counts, most, decides)
    for values in seen:
        search.one(values, 0, is_seen=True)
    for values in starts:
        search.frontier.extend([(0, {**_of_the_call(slots), **values})], 0, START)
    while search.goes_on:
        cost, values = search.frontier.pop()
        search.one(values, cost)
    return search.found()


START = 5
"""What it is worth that an instance was seen, in lines."""


def _of_the_call(slots: Sequence[Slot]) -> Values:
    return {key: one for key, one in at_first(slots).items() if not key.startswith(INIT)}


class _Search:
    def __init__(
        self,
        slots: Sequence[Slot],
        run: Callable[[Values], BaseException | None],
        watch: LineWatch,
        counts: Callable[[Values], bool],
        most: int,
        decides: Callable[[BaseException], Sequence[str]],
    ) -> None:
        self.decides = decides
        self.slots, self.run, self.watch, self.counts = slots, run, watch, counts
        self.start = at_first(slots)
        self.frontier = Frontier(self.start)
        self.left, self.runs = most, 0
        self.ran = False
        self.covered: set[Row] = set()
        self.variants: list[Values] = []
        self.quiet: list[Values] = []
        self.nearest: tuple[int, BaseException | None] = (-1, None)

    @property
    def goes_on(self) -> bool:
        return bool(self.frontier) and self.left > 0 and len(self.variants) < MOST_VARIANTS

    def one(self, values: Values, cost: int, is_seen: bool = False) -> None:
        """Run the target once, and put what comes next to the frontier."""
        self.watch.reset()
        error = self.run(values)
        rows = frozenset(self.watch.places)
        self.runs += 1
        self.left -= 0 if is_seen else 1
        if isinstance(error, NotImplementedError) and not self.ran:
            self.left = min(self.left, WITHOUT_BODY)
        if error is None:
            self._works(values, rows)
        elif is_seen:
            return
        elif len(rows) > self.nearest[0]:
            self.nearest = (len(rows), error)
        slots = [slot for slot in self.slots if RECEIVER not in values or not slot.key.startswith(INIT)]
        worth = len(rows) if error is not None else len(rows - self.covered)
        first = () if error is None else self.decides(error)
        self.frontier.extend(changes(slots, values, error, first), cost, worth)

    def _works(self, values: Values, rows: frozenset[Row]) -> None:
        if not self.ran:
            self.left = min(self.left, AFTERWARDS)
        self.ran = True
        if not self.counts(values):
            return
        if not self.variants or not rows <= self.covered:
            self.variants.append(values)
            self.covered |= rows
        elif _switches(values) != _switches(self.start) and len(self.quiet) < MOST_QUIET:
            self.quiet.append(values)

    def found(self) -> Explored:
        variants, error = self.variants + self.quiet, self.nearest[1]
        if variants:
            return Explored(variants, self.runs)
        if self.ran or error is None:
            return Explored([], self.runs, "it takes no tensor")
        return Explored([], self.runs, f"no values were found ({self.runs} tries): {told(error)}")


def _switches(values: Values) -> list[tuple[str, object]]:
    """What chooses: True, a word, a member of an enumeration."""
    return [
        (key, one["of"] if one["is"] == "name" else one["value"])
        for key, one in values.items()
        if one["is"] == "name" or (one["is"] == "value" and (one["value"] is True or isinstance(one["value"], str)))
    ]
