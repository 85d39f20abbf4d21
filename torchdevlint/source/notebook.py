"""Jupyter notebooks: their Python cells as the text of one module, and places in it as places in the cells.

The format: https://nbformat.readthedocs.io/en/latest/format_description.html
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from torchdevlint.model import Diagnostic, Edit, Fix, Related, Span
from torchdevlint.patterns import regex
from torchdevlint.source import json_text
from torchdevlint.source.magics import translate
from torchdevlint.source.text import UndecodableError, decode

NOTEBOOK = ".ipynb"
_NEWLINE = regex(r"\r\n?|\n")
_REFUSALS = ("SyntaxError", "IndentationError", "TabError")
_POINTER = "version https://git-lfs.github.com/spec/"


class Cell(Struct, frozen=True):
    """A cell of Python code. `number` is its place among all cells of the notebook, from 1.

    `rows` are as they stand in the file, `python` is what became of them, and the numbers in `changed`, from 0, are of
    the rows in which the two differ. `first` is the row of the module that it starts in. A cell that is `left_out`
    could not be parsed, and has nothing in its `python`. One that was `never_run` has no number of an execution, though
    other cells have. One that was `refused` was run, and what is saved below it is the SyntaxError that came of it.
    """

    number: int
    source: str
    rows: tuple[str, ...]
    python: tuple[str, ...]
    changed: frozenset[int]
    first: int
    left_out: bool = False
    never_run: bool = False
    refused: bool = False

    @property
    def text(self) -> str:
        """The cell as Python; each row has its line end."""
        return "".join(f"{row}\n" for row in self.python)

    @property
    def end(self) -> tuple[int, int]:
        """The row and the column behind the last character that is no blank."""
        rows = _NEWLINE.split(self.source.rstrip())
        return len(rows), len(rows[-1]) + 1


class Notebook(Struct, frozen=True, dict=True):
    """The Python cells of a notebook, in order; none if it is in another language."""

    cells: tuple[Cell, ...]

    @cached_property
    def text(self) -> str:
        """All cells as one module of Python."""
        return "".join(cell.text for cell in self.cells)

    def without(self, numbers: Collection[int]) -> Notebook:
        """The notebook with nothing in the cells of these numbers, which keep their rows."""
        return Notebook(
            tuple(
                replace(cell, python=("",) * len(cell.rows), left_out=True) if cell.number in numbers else cell
                for cell in self.cells
            )
        )

    def in_cells(self, diagnostic: Diagnostic) -> Diagnostic:
        """A finding in the module as one in a cell.

        What lies in a row that is no Python covers that row. A fix that touches such a row is left out.
        """
        cell = self._cell(diagnostic.span.row)
        return replace(
            diagnostic,
            cell=cell.number,
            span=_in(cell, diagnostic.span),
            noqa_row=min(max(diagnostic.noqa_row - cell.first, 0), len(cell.rows) - 1) + 1,
            related=tuple(self._related(each, diagnostic.filename) for each in diagnostic.related),
            fix=self._fix(diagnostic.fix),
        )

    def in_module(self, diagnostic: Diagnostic) -> Diagnostic:
        """A finding in a cell as one in the module, without its fix and its related places."""
        rows = self._first(diagnostic.cell) - 1
        span = _moved(diagnostic.span, rows)
        return replace(diagnostic, cell=None, span=span, noqa_row=diagnostic.noqa_row + rows, related=(), fix=None)

    def fix_in_module(self, fix: Fix) -> Fix:
        """A fix of cells as one of the module."""
        edits = (Edit(edit.content, _moved(edit.span, self._first(edit.cell) - 1)) for edit in fix.edits)
        return replace(fix, edits=tuple(edits))

    def placed(self, span: Span) -> tuple[int, Span]:
        """The number of the cell that a span of the module lies in, and the span there."""
        cell = self._cell(span.row)
        return cell.number, _in(cell, span)

    def _first(self, number: int | None) -> int:
        return next(cell.first for cell in self.cells if cell.number == number)

    def _related(self, related: Related, filename: str) -> Related:
        if related.filename != filename:
            return related
        cell = self._cell(related.span.row)
        return replace(related, span=_in(cell, related.span), cell=cell.number)

    def _fix(self, fix: Fix | None) -> Fix | None:
        if fix is None:
            return None
        edits = tuple(self._edit(edit) for edit in fix.edits)
        whole = tuple(edit for edit in edits if edit is not None)
        return replace(fix, edits=whole) if len(whole) == len(edits) else None

    def _edit(self, edit: Edit) -> Edit | None:
        """The edit in its cell; None if it touches what is no Python, or more than one cell.

        The end of the last row of a cell is no line end, but an edit may delete it with the row.
        """
        span, cell = edit.span, self._cell(edit.span.row)
        row, end_row = span.row - cell.first, span.end_row - cell.first
        touched = range(row, end_row if span.end_column == 1 and end_row > row else end_row + 1)
        if cell.left_out or row >= len(cell.rows) or not cell.changed.isdisjoint(touched):
            return None
        if end_row >= len(cell.rows):
            if end_row > len(cell.rows) or span.end_column > 1:
                return None
            return Edit(edit.content.removesuffix("\n"), _in(cell, span), cell.number)
        return Edit(edit.content, Span(row + 1, span.column, end_row + 1, span.end_column), cell.number)

    def _cell(self, row: int) -> Cell:
        return self.cells[max(bisect_right(self._firsts, row) - 1, 0)]

    @cached_property
    def _firsts(self) -> list[int]:
        return [cell.first for cell in self.cells]


def _moved(span: Span, rows: int) -> Span:
    return replace(span, row=span.row + rows, end_row=span.end_row + rows)


def _in(cell: Cell, span: Span) -> Span:
    """A span of the module in a cell, and within the text that is there."""
    row, end_row = (min(max(each - cell.first, 0), len(cell.rows) - 1) for each in (span.row, span.end_row))
    beyond = span.end_row - cell.first > end_row
    start, end = cell.rows[row], cell.rows[end_row]
    column, end_column = (span.column, len(end) + 1 if beyond else min(span.end_column, len(end) + 1))
    if row in cell.changed:
        column = len(start) - len(start.lstrip()) + 1
        end_column = len(end) + 1
    return Span(row + 1, min(column, len(start) + 1), end_row + 1, end_column)


class Content(Struct, frozen=True):
    """What a file holds, as a module of Python, with the notebook that it is made of, if the file is one."""

    text: str
    notebook: Notebook | None = None


def content_of(data: bytes, filename: str) -> Content:
    """The content of a file of that name. Raises UndecodableError, or RecursionError for too deep a notebook."""
    if not filename.endswith(NOTEBOOK):
        return Content(decode(data))
    notebook = read(data)
    return Content(notebook.text, notebook)


def read(data: bytes) -> Notebook:
    """The notebook that a file holds. Raises UndecodableError if that is none; RecursionError if it is too deep."""
    cells, texts = _read(data)
    notebook = of_cells((number, source) for number, source in enumerate(texts, start=1) if source is not None)
    counts = [each.get("execution_count") for each in cells]
    some_run = any(isinstance(each, int) for each in counts)
    return Notebook(tuple(_as_run(cell, cells[cell.number - 1], some_run) for cell in notebook.cells))


def _as_run(cell: Cell, written: Mapping[str, Any], some_run: bool) -> Cell:
    """The cell with what the notebook says of its last run."""
    outputs = written.get("outputs")
    errors = [_below(each, "ename") for each in outputs] if isinstance(outputs, list) else []
    never_run = some_run and written.get("execution_count") is None
    refused = any(each in _REFUSALS for each in errors)
    return replace(cell, never_run=never_run, refused=refused) if never_run or refused else cell


def of_cells(sources: Iterable[tuple[int, str]]) -> Notebook:
    """A notebook of Python cells with these numbers and texts."""
    cells: list[Cell] = []
    row = 1
    for number, source in sources:
        rows = _NEWLINE.split(source)
        translated = translate(rows)
        cells.append(Cell(number, source, tuple(rows), translated.rows, translated.changed, row))
        row += len(rows)
    return Notebook(tuple(cells))


def sources(data: bytes) -> list[str | None]:
    """The text of each cell, None for one that is no Python code. Raises as `read` does."""
    return _read(data)[1]


def _read(data: bytes) -> tuple[list[Any], list[str | None]]:
    """The cells of a notebook as they are written down, none for another language, and their texts.

    An empty file, which a notebook is before it is saved for the first time, has no cells; nor has what Git LFS puts in
    the place of a file that was not fetched.
    """
    text = decode(data)
    if not text.strip() or text.startswith(_POINTER):
        return [], []
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise UndecodableError(f"it is no JSON: {error.msg}", error.lineno) from None
    except ValueError as error:  # a number with more digits than Python reads
        raise UndecodableError(str(error), 1) from None
    if not isinstance(document, dict):
        raise UndecodableError("it is no JSON object", 1)
    cells = list(_cells(document))
    if not _is_python(document.get("metadata")):
        return [], [None] * len(cells)
    found: list[str | None] = []
    for number, cell in enumerate(cells):
        try:
            found.append(_source(cell))
        except TypeError as error:
            raise UndecodableError(f"cell {number + 1} {error}", _row(text, number)) from None
    return cells, found


def places(text: str) -> list[json_text.Place]:
    """Where the source of each cell stands in the text of a notebook, which was read before."""
    found = []
    for at, _ in _cell_places(text):
        inside = json_text.members(text, at)
        found.append(inside.get("source") or inside.get("input") or (at, at))
    return found


def _cells(document: dict[str, Any]) -> Iterator[Any]:
    """The cells of a notebook; before version 4 of the format they were in worksheets."""
    if "cells" not in document and isinstance(document.get("worksheets"), list):
        for sheet in document["worksheets"]:
            yield from _cells(sheet if isinstance(sheet, dict) else {})
        return
    if not isinstance(document.get("cells"), list):
        raise UndecodableError("it has no list of `cells`", 1)
    yield from document["cells"]


def _cell_places(text: str) -> list[json_text.Place]:
    top = json_text.members(text, json_text.start(text))
    if "cells" in top:
        return json_text.items(text, top["cells"][0])
    sheets = json_text.items(text, top["worksheets"][0])
    return [place for at, _ in sheets for place in json_text.items(text, json_text.members(text, at)["cells"][0])]


def _row(text: str, number: int) -> int:
    return len(_NEWLINE.findall(text, 0, _cell_places(text)[number][0])) + 1


def _source(cell: Any) -> str | None:
    """The text of a cell, if it is Python code. Raises TypeError for what no notebook holds."""
    if not isinstance(cell, dict):
        raise TypeError("is no JSON object")
    if cell.get("cell_type") != "code":
        return None
    if not _is_named_python(_below(cell, "metadata", "vscode", "languageId"), cell.get("language")):
        return None
    source = cell.get("source", cell.get("input"))
    if isinstance(source, str):
        return source
    if not isinstance(source, list) or not all(isinstance(each, str) for each in source):
        raise TypeError("has a source that is neither a string nor a list of strings")
    return "".join(source)


def _is_python(metadata: Any) -> bool:
    return _is_named_python(_below(metadata, "language_info", "name"), _below(metadata, "kernelspec", "language"))


def _is_named_python(*names: Any) -> bool:
    """Whether no name is that of another language; what says nothing says Python."""
    return all("python" in name.lower() for name in names if isinstance(name, str) and name)


def _below(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
