"""What the inference believes of the expressions of a file, or why it knows nothing of them."""

from __future__ import annotations

from functools import cached_property

from torchdevlint.config import Settings
from torchdevlint.flow.analyse import analyse
from torchdevlint.flow.recording import Recording
from torchdevlint.flow.telling.beliefs import Teller
from torchdevlint.model import Belief
from torchdevlint.project.modules import Library
from torchdevlint.project.uses import around
from torchdevlint.source.notebook import content_of
from torchdevlint.source.text import Source
from torchdevlint.syntax.document import parsed


class Beliefs:
    """What is believed of one text. It is worked out for a place when it is asked for.

    Rows and columns are 1-based, columns count code points.
    """

    def __init__(self, teller: Teller) -> None:
        self._teller = teller

    def at(self, row: int, column: int | None = None) -> tuple[Belief, ...]:
        """What stands at a place, the innermost first; without a column, the outermost of what begins in the row."""
        if column is None:
            return tuple(self._teller.in_row(row))
        return tuple(self._teller.around(row, column))

    @cached_property
    def all(self) -> tuple[Belief, ...]:
        """Everything that is believed, in the order of the text."""
        return tuple(self._teller.every())

    def assigned(self) -> tuple[Belief, ...]:
        """The targets of assignments whose device is known, in the order of the text."""
        return tuple(self._teller.assigned())


def of_bytes(data: bytes, filename: str, settings: Settings) -> Beliefs:
    """What is believed of a file with this content; `filename` need not exist, but what is beside it is looked into.

    Raises UndecodableError and InvalidSyntaxError for what is no Python, TooDeepError and RecursionError for what is
    nested too deeply.
    """
    document = parsed(content_of(data, filename))
    if document.tree is None:
        raise document.errors[0]
    source, recording = Source(document.content.text, document.tree), Recording(document.tree)
    analyse(document.tree, source, settings, project=around(filename, Library()), recording=recording)
    return Beliefs(Teller(recording))
