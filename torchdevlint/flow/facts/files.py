"""The file itself: its syntax, and its suppression comments."""

from __future__ import annotations

from torchdevlint.flow.facts.common import Fact
from torchdevlint.model import Note


class UnusedSuppression(Fact, frozen=True):
    """A suppression comment that names codes which suppress nothing; `unused` are those codes, as written."""

    comment: str
    unused: tuple[str, ...]


class RevealedValue(Fact, frozen=True):
    """A comment asks what is believed of a line: of this `text` that is what the `description` says.

    `cases` are pairs of when and what, where it depends on the branch, the call or the round of a loop; `because` says
    why it is not known. Without a `text` nothing stands in the line that has a value.
    """

    text: str
    description: str = ""
    cases: tuple[tuple[str, str], ...] = ()
    because: str = ""
    notes: tuple[Note, ...] = ()


class InvalidSyntax(Fact, frozen=True):
    """A `part` cannot be parsed or decoded; `reason` is the parser's own words.

    The part is a ``file`` of Python, a ``cell`` of a notebook, or a whole ``notebook`` that is none. A `remedy` is what
    would read it, where that would take something newer.
    """

    reason: str
    part: str = "file"
    for_python_2: bool = False
    remedy: str = ""
