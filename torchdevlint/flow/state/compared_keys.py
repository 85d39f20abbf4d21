"""Keys of branch conditions that say more than whether they are the same.

A module of its own, since mypyc cannot compile a class that is derived from `str`, and what joins conditions is hot.
"""

from __future__ import annotations


class Switch(str):
    """The key of a test whether an accelerator is used, or a device was given: ``if args.cuda``, ``device is None``.

    What is moved in one arm is where all else has to be that goes with it there.
    """

    __slots__ = ("absent",)
    absent: bool | None
    """The outcome by which no device was given; None where the use of an accelerator is asked."""


def switched(text: str, absent: bool | None) -> Switch:
    key = Switch(text)
    key.absent = absent
    return key


class Compared(str):
    """The key of a test that compares with literals: ``kind == "a"``, ``kind in ("a", "b")``, ``gpus > 1``."""

    __slots__ = ("asked", "bound", "values")
    asked: str
    """What is compared, in the activation and round of the test."""
    values: frozenset[object]
    """One of these it has to be, where there is no `bound`."""
    bound: Bound | None

    def excludes(self, arm: bool, other: Compared, other_arm: bool) -> bool:
        """Whether one outcome of this test and one of another cannot both be: nothing is ``"a"`` and ``"b"``."""
        if self.asked != other.asked:
            return False
        if self.bound is not None:
            if other.bound is not None:
                return self.bound.taken(arm).excludes(other.bound.taken(other_arm))
            return other_arm and self.bound.taken(arm).holds_none_of(other.values)
        if other.bound is not None:
            return arm and other.bound.taken(other_arm).holds_none_of(self.values)
        if arm and other_arm:
            return self.values.isdisjoint(other.values)
        if arm:
            return self.values <= other.values
        return other_arm and other.values <= self.values


class Bound:
    """The numbers above a number, or below it, with that number itself or without it."""

    __slots__ = ("above", "included", "number")

    def __init__(self, number: float, above: bool, included: bool) -> None:
        self.number = number
        self.above = above
        self.included = included

    def taken(self, arm: bool) -> Bound:
        """The numbers for which a test has an outcome that holds for these: for the other one, it is all others."""
        return self if arm else Bound(self.number, not self.above, not self.included)

    def excludes(self, other: Bound) -> bool:
        """Whether no number is among both."""
        if self.above is other.above:
            return False
        low, high = (self, other) if self.above else (other, self)
        return low.number > high.number or (low.number == high.number and not (low.included and high.included))

    def holds_none_of(self, values: frozenset[object]) -> bool:
        return not any(isinstance(each, (int, float)) and self._holds(each) for each in values)

    def _holds(self, number: float) -> bool:
        if number == self.number:
            return self.included
        return (number > self.number) is self.above


def compared(text: str, asked: str, values: frozenset[object], bound: Bound | None = None) -> Compared:
    key = Compared(text)
    key.asked, key.values, key.bound = asked, values, bound
    return key
