"""Facts of which a part is dead: where they are, or where all begins that they are about."""

from __future__ import annotations

from collections.abc import Callable

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.tensors import MixedDevices
from torchdevlint.model import Span


def has_part_in(fact: Fact, is_dead: Callable[[Span], bool]) -> bool:
    """Whether places are dead without which a fact is none: where it is, or where all begins that it is about.

    What another file does is asked there.
    """
    return (not fact.at.file and is_dead(fact.at)) or begins_in(fact, is_dead)


def begins_in(fact: Fact, is_dead: Callable[[Span], bool]) -> bool:
    """Whether all begins in this file that a fact is about, and is dead there, wherever it leads."""
    begins = fact.creations if isinstance(fact, MixedDevices) else ()
    return bool(begins) and all(not each.span.file and is_dead(each.span) for each in begins)
