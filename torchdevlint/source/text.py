"""The text of one file: decoding as Python does it, and places in it as people count them."""

from __future__ import annotations

import ast
import codecs
import re
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, Protocol

from torchdevlint.model import Span
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import inside, nodes_in

_NEWLINE = regex(r"\r\n?|\n")
_COOKIE = regex(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = regex(rb"[ \t\f]*(?:#.*)?$")
_TRANSLATING = frozenset({"future_annotations", "future_fstrings"})
"""Codecs of packages of these names: UTF-8, of which an old Python gets what it understands."""
_JOINED: tuple[type[ast.AST], ...] = (ast.JoinedStr, getattr(ast, "TemplateStr", ast.JoinedStr))


class Lines(Protocol):
    """Gives the lines of a file by its name in a diagnostic, or those of a cell of it; none if it cannot be read."""

    def __call__(self, filename: str, cell: int | None = None, /) -> Sequence[str]: ...


class UndecodableError(ValueError):
    """The bytes are not Python source: `reason` says why, `row` (1-based) where."""

    def __init__(self, reason: str, row: int) -> None:
        super().__init__(reason, row)
        self.reason = reason
        self.row = row

    def __str__(self) -> str:
        return f"{self.reason} (line {self.row})"


def decode(data: bytes) -> str:
    """The text of a source file, its byte order mark dropped and its newlines kept as they are.

    The encoding is UTF-8 unless a comment on one of the first two lines declares another (PEP 263). A codec that only
    spares an old Python newer syntax is read as UTF-8, whether its package is installed here or not.
    Raises UndecodableError for an unknown encoding, a declaration that contradicts the byte order mark, bytes that
    the encoding does not allow, and NUL characters, none of which Python reads either.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UndecodableError("UTF-16 is not an encoding for Python source", 1)
    marked = data.startswith(codecs.BOM_UTF8)
    body = data[3:] if marked else data
    encoding, row = declared_encoding(body) or ("utf-8", 1)
    if encoding.lower().replace("-", "_") in _TRANSLATING:
        encoding = "utf-8"
    if marked and _codec_name(encoding, row) not in ("utf-8", "utf-8-sig"):
        raise UndecodableError(f"the file has a UTF-8 byte order mark but declares the encoding {encoding}", row)
    try:
        text = body.decode(encoding)
    except LookupError:
        raise UndecodableError(f"unknown encoding: {encoding}", row) from None
    except UnicodeDecodeError as error:
        reason = f"byte 0x{error.object[error.start]:02x} is not valid {encoding}"
        raise UndecodableError(reason, _row_of(error.object, error.start)) from None
    except ValueError:  # some codecs do not say where
        raise UndecodableError(f"the text is not valid {encoding}", row) from None
    nul = text.find("\0")
    if nul >= 0:
        raise UndecodableError("source code cannot contain NUL characters", len(_NEWLINE.findall(text, 0, nul)) + 1)
    return text


def declared_encoding(data: bytes) -> tuple[str, int] | None:
    """The encoding that a PEP 263 comment names, as written, and its row; the second row counts after a blank one."""
    for row, line in enumerate(re.split(rb"\r\n?|\n", data[:4096], maxsplit=2)[:2], start=1):
        if cookie := _COOKIE.match(line):
            return cookie[1].decode("ascii", "replace"), row
        if not _BLANK.match(line):
            return None
    return None


def encoded(text: str) -> bytes:
    """The bytes that an editor would save: in the encoding that the text declares, if that has all its characters."""
    data = text.encode("utf-8", "surrogatepass")
    encoding, _ = declared_encoding(data) or ("utf-8", 1)
    try:
        return text.encode(encoding)
    except (LookupError, ValueError):
        return data


def _codec_name(encoding: str, row: int) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise UndecodableError(f"unknown encoding: {encoding}", row) from None


def _row_of(data: bytes, offset: int) -> int:
    return len(re.findall(rb"\r\n?|\n", data[:offset])) + 1


class Source:
    """The text of a file and, when it has one, its syntax tree.

    Everything is worked out on first use, so a file without findings pays nothing. `tree` is needed for `span` and
    `segment` of nodes inside f-strings.
    """

    def __init__(self, text: str, tree: ast.AST | None = None) -> None:
        self.text = text
        self.tree = tree

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The rows without their line endings: `lines[row - 1]`.

        Only ``\\r\\n``, ``\\r`` and ``\\n`` end a row, as in Python's own reader; `str.splitlines` knows more. A text
        that ends in a newline has an empty last row.
        """
        return tuple(self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))

    def span(self, node: ast.AST) -> Span:
        """Where a node stands. A node inside an f-string stands where the outermost f-string does.

        Before Python 3.12 the positions inside f-strings are unreliable, and findings should not depend on the
        interpreter. Raises AttributeError for nodes that have no position (operators, `ast.arguments` ...).
        """
        place: Any = self._inside_f_string.get(id(node), node)
        end_row, end_offset = place.end_lineno, place.end_col_offset
        if end_row is None:
            end_row, end_offset = place.lineno, place.col_offset
        return Span(
            place.lineno, self.column(place.lineno, place.col_offset), end_row, self.column(end_row, end_offset)
        )

    def segment(self, node: ast.AST) -> str:
        """The text of a node, or of the outermost f-string around it."""
        place: Any = self._inside_f_string.get(id(node), node)
        line: str = self.lines[place.lineno - 1]
        if place.end_lineno == place.lineno and line.isascii():
            return line[place.col_offset : place.end_col_offset]
        return self.between(self.span(node))

    def between(self, span: Span) -> str:
        """The text of a span."""
        return self.text[self.offset(span.row, span.column) : self.offset(span.end_row, span.end_column)]

    def column(self, row: int, byte_offset: int) -> int:
        """The 1-based code-point column of a 0-based UTF-8 offset into a row, which is how `ast` counts."""
        line = self.lines[row - 1]
        if line.isascii():
            return byte_offset + 1
        return len(line.encode("utf-8", "surrogatepass")[:byte_offset].decode("utf-8", "replace")) + 1

    def offset(self, row: int, column: int) -> int:
        """The index into `text` of a place; rows and columns beyond the text are drawn back to its end."""
        if row > len(self._starts):
            return len(self.text)
        return min(self._starts[row - 1] + column - 1, len(self.text))

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        if "\r" in self.text:
            return (0, *(newline.end() for newline in _NEWLINE.finditer(self.text)))
        return tuple(accumulate([len(line) + 1 for line in self.lines[:-1]], initial=0))

    @cached_property
    def _inside_f_string(self) -> dict[int, ast.AST]:
        if self.tree is None:
            return {}
        outermost: dict[int, ast.AST] = {}
        for kind in dict.fromkeys(_JOINED):
            for node in nodes_in(self.tree, kind):
                if id(node) not in outermost:
                    outermost.update((id(inner), node) for inner in inside(node) if inner is not node)
        return outermost
