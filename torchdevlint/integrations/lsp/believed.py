"""What is believed of the expressions of what is shown. Knows nothing of a protocol."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from torchdevlint.config import ConfigError, load
from torchdevlint.integrations.lsp.document import Page, Shown
from torchdevlint.model import Belief, Note
from torchdevlint.report.beliefs import sentence
from torchdevlint.source.text import UndecodableError
from torchdevlint.syntax.errors import TooDeepError
from torchdevlint.syntax.parse import ParseError

if TYPE_CHECKING:
    from torchdevlint.beliefs import Beliefs


class Believed(Struct, frozen=True, dict=True):
    """What is shown and what is believed of it: nothing where it cannot be read, or has nothing to do with torch."""

    shown: Shown
    beliefs: Beliefs | None = None

    def at(self, page: Page, row: int, column: int) -> Belief | None:
        """The smallest expression at a place of a page, if there is something to say of it.

        There is nothing to say of what is written out, or of a name that is no other than its own.
        """
        found = () if self.beliefs is None or not page.is_python else self.beliefs.at(row, column, page.cell)
        belief = next(iter(found), None)
        if belief is None or belief.text[:1] in "0123456789'\"" or belief.text in ("None", "True", "False"):
            return None
        return None if belief.description.startswith(f"`{belief.text}`") else belief

    @property
    def assigned(self) -> tuple[Belief, ...]:
        """The targets of assignments whose device is known. They are looked up when this is read first."""
        return self.beliefs.assigned if self.beliefs is not None else ()

    @property
    def is_ready(self) -> bool:
        """Whether `assigned` was looked up already."""
        return self.beliefs is None or "assigned" in self.beliefs.__dict__


def told(belief: Belief) -> str:
    """A belief in Markdown: what it is, where it was made and moved, or why that is not known."""
    lines = [sentence(belief), *(f"- {_placed(each)}" for each in belief.notes)]
    lines += [f"- {each.when or 'or'}: {each.description}" for each in belief.alternatives]
    if belief.unknown_because is not None:
        lines.append(f"- unknown because {_placed(belief.unknown_because)}")
    return "\n".join(lines)


def _placed(note: Note) -> str:
    """A note with its place, unless it names that itself, which is in the cell of the belief."""
    file = f"{Path(note.span.file).name}, " if note.span.file else ""
    return note.message if ", line " in note.message else f"{note.message} ({file}line {note.span.row})"


def believe(shown: Shown, pulse: Callable[[], None]) -> Believed:
    """What is believed of what is shown. Whatever `pulse` raises comes through; it is called again and again."""
    if b"torch" not in shown.data:
        return Believed(shown)
    from torchdevlint.beliefs import of_bytes

    try:
        return Believed(shown, of_bytes(shown.data, shown.filename, load(Path(shown.filename)), pulse))
    except (ConfigError, UndecodableError, ParseError, TooDeepError, RecursionError, MemoryError):
        return Believed(shown)
