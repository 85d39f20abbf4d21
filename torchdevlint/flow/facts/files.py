"""The file itself: its syntax, and its suppression comments."""

from __future__ import annotations

from torchdevlint.flow.facts.common import Fact
from torchdevlint.model import Edit, Note, Span


class UnusedSuppression(Fact, frozen=True):
    """A suppression comment that silences nothing; `unused` are its codes that do not, none if it stands for all rules.

    `also` are further places to delete if all of the comment goes: the other end of a region.
    """

    comment: str
    unused: tuple[str, ...]
    also: tuple[Span, ...] = ()


class InvalidSuppression(Fact, frozen=True):
    """A suppression comment that cannot mean what its author wants, because of what is `written` there.

    The `problem` is a ``code`` or a ``name`` that no rule has, a ``directive`` that there is not, codes without
    ``brackets``, a ``place`` where it does not count, or a ``closing`` of what is not open. `nearest` is what was
    probably meant, empty if nothing is like it; the `edit` is `sure` if it cannot silence anything else.
    """

    written: str
    problem: str
    nearest: str = ""
    edit: Edit | None = None
    sure: bool = False


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
