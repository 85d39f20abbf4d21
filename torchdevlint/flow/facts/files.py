"""The file itself: its syntax, and its suppression comments."""

from __future__ import annotations

from dataclasses import dataclass

from torchdevlint.flow.facts.common import Fact
from torchdevlint.model import Span


@dataclass(frozen=True, slots=True)
class UnusedSuppression(Fact):
    """A suppression comment that names TDL codes which suppress nothing; `unused` are those codes, as written."""

    at: Span
    comment: str
    unused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InvalidSyntax(Fact):
    """A `part` cannot be parsed or decoded; `reason` is the parser's own words.

    The part is a ``file`` of Python, a ``cell`` of a notebook, or a whole ``notebook`` that is none.
    """

    at: Span
    reason: str
    part: str = "file"
