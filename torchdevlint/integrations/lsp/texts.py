"""The texts that a client has open, as it says that they are: documents, and notebooks made of them.

The library that speaks the protocol keeps texts as well, but takes a form feed for a new line, loses a cell whose
language is switched, and changes cells wrongly if it was told to expect whole texts. So it is not asked to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from lsprotocol import types
from msgspec import Struct
from msgspec.structs import replace
from pygls.uris import to_fs_path, uri_scheme

from torchdevlint.discover import SUFFIXES
from torchdevlint.integrations.lsp.document import Page, Shown
from torchdevlint.integrations.lsp.places import Places, rows_of
from torchdevlint.source.notebook import NOTEBOOK

PYTHON = "python"


class Text(Struct, frozen=True, dict=True):
    """A document that is open: a file, or one cell of a notebook. The rows have their line endings."""

    uri: str
    language: str
    version: int
    rows: tuple[str, ...]

    @cached_property
    def content(self) -> str:
        return "".join(self.rows)


class Notebook(Struct, frozen=True):
    """A notebook that is open, and its cells in order; their texts are documents of their own."""

    uri: str
    cells: tuple[types.NotebookCell, ...]


class Texts:
    """All that one client has open. Raises KeyError for changes of what is not."""

    def __init__(self, encoding: str = "utf-16", root: str | None = None) -> None:
        self.encoding, self.root = encoding, root
        self.texts: dict[str, Text] = {}
        self.notebooks: dict[str, Notebook] = {}
        self._homes: dict[str, str] = {}

    @property
    def units(self) -> list[str]:
        """What is linted as a whole, by its URI: each notebook, and each document that is no cell of one."""
        return [*(uri for uri in self.texts if uri not in self._homes), *self.notebooks]

    def unit(self, uri: str) -> str:
        """The URI of what is linted with a document: of its notebook, or of itself."""
        return self._homes.get(uri, uri)

    def version(self, uri: str) -> int | None:
        """The version of a document; None if it is not open."""
        text = self.texts.get(uri)
        return None if text is None else text.version

    def open(self, item: types.TextDocumentItem) -> None:
        self.texts[item.uri] = Text(item.uri, item.language_id, item.version, rows_of(item.text))

    def change(
        self,
        document: types.VersionedTextDocumentIdentifier,
        changes: Iterable[types.TextDocumentContentChangeEvent],
    ) -> None:
        text = self.texts[document.uri]
        rows = text.rows
        for each in changes:
            rows = _changed(rows, each, self.encoding)
        self.texts[document.uri] = Text(text.uri, text.language, document.version, rows)

    def close(self, uri: str) -> None:
        self.texts.pop(uri, None)

    def open_notebook(self, notebook: types.NotebookDocument, items: Iterable[types.TextDocumentItem]) -> None:
        self.notebooks[notebook.uri] = Notebook(notebook.uri, tuple(notebook.cells))
        self._homes.update((cell.document, notebook.uri) for cell in notebook.cells)
        for item in items:
            self.open(item)

    def change_notebook(self, uri: str, changes: types.NotebookDocumentCellChanges) -> list[str]:
        """Change a notebook; gives the cells that are no longer part of it.

        A cell that is closed and opened in one change is another one of the same URI, whatever is said first.
        """
        notebook = self.notebooks[uri]
        cells = list(notebook.cells)
        if changes.structure is not None:
            array = changes.structure.array
            cells[array.start : array.start + array.delete_count] = array.cells or ()
            for closed in changes.structure.did_close or ():
                self.close(closed.uri)
            for item in changes.structure.did_open or ():
                self.open(item)
        new = {cell.document: cell for cell in changes.data or ()}
        self.notebooks[uri] = replace(notebook, cells=tuple(new.get(cell.document, cell) for cell in cells))
        removed = {cell.document: None for cell in notebook.cells}
        for cell in cells:
            removed.pop(cell.document, None)
            self._homes[cell.document] = uri
        for each in removed:
            self._homes.pop(each)
            self.close(each)
        for text in changes.text_content or ():
            self.change(text.document, text.changes)
        return list(removed)

    def close_notebook(self, uri: str) -> list[str]:
        """Close a notebook; gives its cells."""
        notebook = self.notebooks.pop(uri, None)
        cells = [] if notebook is None else [cell.document for cell in notebook.cells]
        for each in cells:
            self._homes.pop(each, None)
            self.close(each)
        return cells

    def shown(self, unit: str) -> Shown | None:
        """What is linted as a whole as it is now; None if it is not open, or nothing that is linted."""
        if unit in self.notebooks:
            pages = tuple(self._cells(self.notebooks[unit]))
            return Shown(self._file_of_notebook(unit), pages)
        text = self.texts.get(unit)
        filename = None if text is None else self._file(text)
        return None if text is None or filename is None else Shown(filename, (Page(text.uri, text.content),))

    def _cells(self, notebook: Notebook) -> Iterator[Page]:
        """The cells, numbered as in a file; of what is no Python only that it is there."""
        for number, cell in enumerate(notebook.cells, start=1):
            text = self.texts.get(cell.document)
            is_code = cell.kind is types.NotebookCellKind.Code and text is not None and text.language == PYTHON
            summary = cell.execution_summary
            yield Page(
                cell.document,
                text.content if text is not None and is_code else "",
                number,
                is_code,
                None if summary is None else summary.execution_order,
            )

    def _file(self, text: Text) -> str | None:
        """The file that a document is linted as, absolute; None for old versions and other languages."""
        scheme = uri_scheme(text.uri)
        if scheme == "untitled":
            return self._untitled(".py") if text.language == PYTHON else None
        path = to_fs_path(text.uri)
        if scheme != "file" or path is None or path.endswith(NOTEBOOK):
            return None
        return path if text.language == PYTHON or path.endswith(SUFFIXES) else None

    def _file_of_notebook(self, uri: str) -> str:
        """The file that a notebook is linted as, which need not be there."""
        path = to_fs_path(uri) if uri_scheme(uri) == "file" else None
        if path is None:
            return self._untitled(NOTEBOOK)
        return path if path.endswith(NOTEBOOK) else f"{path}{NOTEBOOK}"

    def _untitled(self, suffix: str) -> str:
        return str(Path(self.root or "", f"untitled{suffix}").absolute())


def _changed(rows: Sequence[str], change: types.TextDocumentContentChangeEvent, encoding: str) -> tuple[str, ...]:
    """Rows after a change. Only those that it touches are put together and split again.

    The row before and the row behind are among them, since a line ending may be cut in two, or made of two.
    """
    if isinstance(change, types.TextDocumentContentChangeWholeDocument):
        return rows_of(change.text)
    places = Places(rows, encoding)
    row, column = places.place(change.range.start)
    end_row, end_column = places.place(change.range.end)
    before, behind = rows[row - 1][: column - 1], rows[end_row - 1][end_column - 1 :]
    first, last = max(row - 2, 0), end_row + 1
    text = "".join([*rows[first : row - 1], before, change.text, behind, *rows[end_row:last]])
    new = rows_of(text)
    return (*rows[:first], *(new if last >= len(rows) else new[:-1]), *rows[last:])
