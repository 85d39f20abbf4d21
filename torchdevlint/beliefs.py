"""What the inference believes of the expressions of a file, or why it knows nothing of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from msgspec.structs import replace

from torchdevlint import engine
from torchdevlint.config import Settings
from torchdevlint.flow.analyse import analyse
from torchdevlint.flow.recording import Recording
from torchdevlint.flow.telling.beliefs import Teller
from torchdevlint.model import Belief, FileResult, Note
from torchdevlint.project.modules import HELD
from torchdevlint.project.uses import around, shown
from torchdevlint.source.notebook import Content, Notebook, content_of
from torchdevlint.source.text import Source
from torchdevlint.syntax.document import parsed


class Beliefs:
    """What is believed of one text. It is worked out for a place when it is asked for, and by one thread at a time.

    Rows and columns are 1-based, columns count code points. In a notebook rows are those of a cell, whose number is 1
    for the first one, cells of text included.
    """

    def __init__(self, content: Content, recording: Recording, filename: str) -> None:
        self._content = content
        self._filename = filename
        self._teller = Teller(recording)

    def at(self, row: int, column: int | None = None, cell: int | None = None) -> tuple[Belief, ...]:
        """What stands at a place, the innermost first; without a column, the outermost of what begins in the row."""
        if self._content.notebook is not None:
            first = next((each.first for each in self._content.notebook.cells if each.number == cell), None)
            if first is None:
                return ()
            row += first - 1
        found = self._teller.in_row(row) if column is None else self._teller.around(row, column)
        return tuple(map(self._placed, found))

    @cached_property
    def all(self) -> tuple[Belief, ...]:
        """Everything that is believed, in the order of the text, what is around other things before these."""
        return tuple(map(self._placed, self._teller.every()))

    @cached_property
    def assigned(self) -> tuple[Belief, ...]:
        """The targets of assignments and loops whose device is known, in the order of the text."""
        return tuple(map(self._placed, self._teller.assigned()))

    def lines(self, cell: int | None = None) -> Sequence[str] | None:
        """The lines of the text, or of a cell of the notebook; None if it has no such cell of Python."""
        if self._content.notebook is None:
            return self._teller.source.lines
        return next((each.rows for each in self._content.notebook.cells if each.number == cell), None)

    def _placed(self, belief: Belief) -> Belief:
        notebook, belief = self._content.notebook, _told_from(self._filename, belief)
        return belief if notebook is None else _in_cell(belief, notebook)


def of_bytes(data: bytes, filename: str, settings: Settings) -> Beliefs:
    """What is believed of a file with this content; `filename` need not exist, but what is beside it is looked into.

    Raises UndecodableError and InvalidSyntaxError for what is no Python, TooDeepError, RecursionError and MemoryError
    for what is nested too deeply.
    """
    document = parsed(content_of(data, filename))
    if document.tree is None:
        raise document.errors[0]
    source, recording = Source(document.content.text, document.tree), Recording()
    analyse(document.tree, source, settings, project=around(filename, HELD.library), recording=recording)
    return Beliefs(document.content, recording, filename)


def with_findings(data: bytes, filename: str, settings: Settings) -> tuple[FileResult, Beliefs | None]:
    """What `check` finds in such a file, and what is believed of it, of one analysis.

    There are no beliefs of what cannot be analysed, or has nothing to do with torch. Never raises.
    """
    if b"torch" not in data:
        return engine.check_bytes(data, filename, settings), None
    recording = Recording()
    result = engine.check_bytes(data, filename, settings, recording)
    return result, None if recording.machine is None else Beliefs(content_of(data, filename), recording, filename)


def _told_from(filename: str, belief: Belief) -> Belief:
    """A belief whose places in other files are named as who wrote `filename` would name them."""

    def placed(note: Note) -> Note:
        return Note(note.message, replace(note.span, file=shown(note.span.file, filename))) if note.span.file else note

    because = belief.unknown_because
    return replace(
        belief,
        notes=tuple(map(placed, belief.notes)),
        alternatives=tuple(_told_from(filename, each) for each in belief.alternatives),
        unknown_because=None if because is None else placed(because),
    )


def _in_cell(belief: Belief, notebook: Notebook) -> Belief:
    """A belief with its places in cells; what lies in another cell is named in words."""
    cell, span = notebook.placed(belief.span)

    def placed(note: Note) -> Note:
        if note.span.file:
            return note
        there, at = notebook.placed(note.span)
        return Note(note.message, at) if there == cell else Note(f"{note.message}, line {at.row} of cell {there}", span)

    because = belief.unknown_because
    return replace(
        belief,
        cell=cell,
        span=span,
        notes=tuple(map(placed, belief.notes)),
        alternatives=tuple(_in_cell(each, notebook) for each in belief.alternatives),
        unknown_because=None if because is None else placed(because),
    )
