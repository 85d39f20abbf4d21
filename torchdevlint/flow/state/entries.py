"""How an abstract run begins, what a call in it came to, and what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.state.arrivals import Parameter
from torchdevlint.flow.state.touch import Touch
from torchdevlint.flow.state.values import Value

if TYPE_CHECKING:
    from torchdevlint.flow.state.classes import ClassInfo


class Outcome(Struct, frozen=True):
    """What a call gave, and what it left behind.

    That is a touch of CUDA, the attributes of `self` that it wrote, what the containers that it was given hold
    afterwards, by position or keyword, and what those of the functions `around` it hold, by name.
    """

    value: Value
    touched: Touch | None
    paths: dict[str, Value] | None
    changed: tuple[tuple[int | str, Value], ...] = ()
    around: tuple[tuple[str, Value], ...] = ()


class Entry(Struct, frozen=True):
    """Where an abstract run started: ``forward``, ``init``, ``method``, ``function`` or ``module``."""

    kind: str
    name: str
    owner: ClassInfo | None = None


class Held(Struct):
    """A fact that was recorded, and what it rests on.

    `standing` is how much the code tells that showed it, `owner` the class whose method was entered, and `assumed` the
    parameters of entered functions that it takes to be elsewhere than on the CPU, None if it needs none.
    """

    standing: int
    fact: Fact
    owner: ClassInfo | None = None
    assumed: dict[Parameter | None, None] = field(default_factory=dict)
