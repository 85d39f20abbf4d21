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
    """The key of a test whether something is one of some literals: ``kind == "a"``, ``kind in ("a", "b")``."""

    __slots__ = ("asked", "values")
    asked: str
    """What is compared, in the activation and round of the test."""
    values: frozenset[object]

    def excludes(self, arm: bool, other: Compared, other_arm: bool) -> bool:
        """Whether one outcome of this test and one of another cannot both be: nothing is ``"a"`` and ``"b"``."""
        if self.asked != other.asked:
            return False
        if arm and other_arm:
            return self.values.isdisjoint(other.values)
        if arm:
            return self.values <= other.values
        return other_arm and other.values <= self.values
