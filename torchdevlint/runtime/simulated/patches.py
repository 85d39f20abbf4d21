"""Attributes of torch that are replaced together, and given back exactly.

A patch is (owner, attribute, replacement); owners are modules and Python classes. An attribute that its owner did not
have itself (it was inherited, or missing) is deleted again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Patch = tuple[Any, str, Any]

_MISSING = object()


class Patches:
    """A set of patches that is applied and taken back as a whole, as often as needed."""

    def __init__(self, patches: Iterable[Patch]) -> None:
        self._patches = list(patches)
        self._saved: list[Patch] = []

    def apply(self) -> None:
        """Replace the attributes. What was replaced before a failure is given back."""
        try:
            for owner, name, replacement in self._patches:
                self._saved.append((owner, name, vars(owner).get(name, _MISSING)))
                setattr(owner, name, replacement)
        except BaseException:
            self.take_back()
            raise

    def take_back(self) -> None:
        """Give the attributes back, the last one first."""
        while self._saved:
            owner, name, saved = self._saved.pop()
            if saved is not _MISSING:
                setattr(owner, name, saved)
            elif name in vars(owner):
                delattr(owner, name)
