"""A file as a tree, and what of it is none: a notebook is read but for the cells that cannot be."""

from __future__ import annotations

import ast

from msgspec import Struct

from torchdevlint.patterns import regex
from torchdevlint.source.notebook import Cell, Content, Notebook
from torchdevlint.syntax.errors import InvalidSyntaxError, ParseError
from torchdevlint.syntax.parse import parse

_PRINTED = "print("
_HALF_TYPED = regex(r"\s*[^\W\d][\w.]*\.\s*")


class Document(Struct, frozen=True):
    """A file that was parsed: its tree, None if there is none, and why all or some of it could not be.

    What cannot be parsed of a cell that was never run is a note, or an attempt that was left, and no error. So is a
    name with a dot behind it, as when somebody looked up what an object has, or a last cell that ends with
    ``for x in xs:``, or whose error is in a `print`. An error that is saved below its cell was seen by the author.
    """

    content: Content
    tree: ast.Module | None
    errors: tuple[InvalidSyntaxError, ...] = ()


def parsed(content: Content) -> Document:
    """The tree of a content. Of a notebook, cells that cannot be parsed have nothing in them afterwards.

    Raises TooDeepError.
    """
    try:
        return Document(content, parse(content.text))
    except InvalidSyntaxError as error:
        errors = {} if content.notebook is None else _broken_cells(content.notebook)
        if content.notebook is None or not errors:
            return Document(content, None, (error,))
        rest = content.notebook.without(errors)
        run = {cell.number for cell in rest.cells if not (cell.never_run or cell.refused)}
        lines = content.text.split("\n")
        typed = {number for number, each in errors.items() if _HALF_TYPED.fullmatch(lines[each.row - 1])}
        last = [cell for cell in content.notebook.cells if cell.source.strip()][-1]
        if last.number in errors and (_is_begun(last) or lines[errors[last.number].row - 1].startswith(_PRINTED)):
            typed.add(last.number)
        shown = tuple(each for number, each in errors.items() if number in run - typed)
        return Document(Content(rest.text, rest), parse(rest.text), shown)


def _is_begun(cell: Cell) -> bool:
    """Whether nothing is wrong with a cell but that it ends where a block begins."""
    text = cell.text.rstrip()
    if not text.endswith(":"):
        return False
    try:
        parse(f"{text} pass\n")
    except ParseError:
        return False
    return True


def _broken_cells(notebook: Notebook) -> dict[int, InvalidSyntaxError]:
    """Why cells cannot be parsed, with rows of the module, by the numbers of the cells."""
    found = {}
    for cell in notebook.cells:
        try:
            parse(cell.text)
        except InvalidSyntaxError as error:
            row, column = min((error.row, error.column), cell.end)
            found[cell.number] = InvalidSyntaxError(error.reason, row + cell.first - 1, column, error.remedy)
    return found
