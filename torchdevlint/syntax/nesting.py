"""How deeply a text is nested, found without parsing it.

libcst dies of a segmentation fault on code that Python's own parser refuses with an exception, and a file that Python
refuses for another reason may hold such code further on. So a text is measured before libcst sees it.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from torchdevlint.patterns import regex
from torchdevlint.syntax.depth import DEPTH_LIMIT
from torchdevlint.syntax.errors import TooDeepError

BRACKET_LIMIT = 100
"""Nested brackets and f-strings; libcst uses kilobytes of stack for each, and some threads have only 512."""

_CODE = regex(
    r"""
      (?P<space>[ \t\f]+|\\\r?\n|\#[^\r\n]*)
    | (?P<newline>\r\n?|\n)
    | (?P<string>(?i:br?|rb?|u)?(?:'''(?:\\.|[^\\])*?(?:'''|\Z)|\"""(?:\\.|[^\\])*?(?:\"""|\Z)
        |'(?:\\.|[^\\'\r\n])*'?|"(?:\\.|[^\\"\r\n])*"?))
    | (?P<template>(?i:[ft]r?|r[ft])(?:'''|\"""|'|"))
    | (?P<word>\w+)
    | (?P<operator>\*\*|//|<<|>>|[<>=!]=|->|:=|.)
    """,
    re.DOTALL | re.VERBOSE,
)
_TEXT = {
    **{quote: regex(r"\{\{|\\[^{]|\{|[\r\n]|" + quote) for quote in ("'", '"')},
    **{quote: regex(r"\{\{|\\[^{]|\{|" + quote) for quote in ("'''", '"""')},
    ":": regex(r"[{}]"),
}
"""What ends or interrupts the text of an f-string, and the format of a replacement field."""

_FIELD = "f{"
_NESTING_WORDS = frozenset({"lambda", "for"})
_OPERATOR_WORDS = frozenset({"and", "await", "else", "if", "in", "is", "not", "or", "yield"})
_STATEMENT_WORDS = frozenset("class def del elif except finally import raise return try while with".split())
_PLAIN = frozenset(":!?$`")


def check_text(text: str, limit: int = DEPTH_LIMIT, brackets: int = BRACKET_LIMIT) -> None:
    """Raises TooDeepError for a text that could exhaust the stack of a recursive parser.

    This reads tokens, not grammar, and overrates: it counts operators, brackets and adjacent strings between commas.
    """
    scan = _Scan()
    position = 0
    while position < len(text):
        pattern = _TEXT.get(scan.levels[-1].kind)
        found = pattern.search(text, position) if pattern else _CODE.match(text, position)
        if found is None:
            return
        position = found.end()
        if pattern:
            scan.text(found[0])
        else:
            scan.code(found)
        if scan.depth > limit or len(scan.levels) > brackets:
            raise TooDeepError(f"nested more than {limit} levels deep near character {position}")


class _Level(Struct):
    """One open bracket or f-string: `chain` bounds how deep the expression being read in it is already.

    `kind` is the opening bracket or quote, `_FIELD` for a replacement field, ``:`` for its format, or empty outside of
    them all. A comma starts a new expression, but not in the head of a lambda or comprehension, hence `floor`.
    """

    kind: str
    chain: int = 0
    floor: int = 0

    def restart(self) -> None:
        self.chain = self.floor = 0


class _Scan(Struct):
    """What is open at one place of the text."""

    levels: list[_Level] = field(default_factory=lambda: [_Level("")])
    outer: int = 0
    """The depth of all levels but the last."""
    elifs: dict[int, int] = field(default_factory=dict)
    """The length of the current ``elif`` chain by its column."""
    first: bool = True
    """Whether a row has just begun."""
    row_start: int = 0

    @property
    def depth(self) -> int:
        return self.outer + self.levels[-1].chain + max(self.elifs.values(), default=0)

    def open(self, kind: str) -> None:
        self.outer += self.levels[-1].chain + 1
        self.levels.append(_Level(kind))

    def close(self) -> None:
        if len(self.levels) > 1:
            self.levels.pop()
            self.outer -= self.levels[-1].chain + 1
            self.levels[-1].chain += 1

    def text(self, piece: str) -> None:
        """Inside an f-string: a replacement field opens, or the string or format ends."""
        if piece == "{":
            self.open(_FIELD)
        elif not piece.startswith(("{", "\\")):
            self.close()

    def code(self, found: re.Match[str]) -> None:
        kind, piece = found.lastgroup, found[0]
        if kind == "space":
            return
        if kind == "newline":
            self.newline(found.end())
            return
        if kind == "word":
            self.word(piece, found.start() - self.row_start)
        elif kind == "string":
            self.levels[-1].chain += 1
        elif kind == "template":
            self.open(piece.lstrip("fFrRtT"))
        else:
            self.operator(piece)
        self.first = False

    def newline(self, end: int) -> None:
        self.first, self.row_start = True, end
        if len(self.levels) == 1:
            self.levels[0].restart()

    def word(self, piece: str, column: int) -> None:
        if self.first and piece in _STATEMENT_WORDS:  # impossible within brackets: one was never closed
            self.levels, self.outer = [_Level("")], 0
        if self.first and len(self.levels) == 1 and piece in ("if", "elif"):
            self.elifs[column] = self.elifs.get(column, 0) + 1 if piece == "elif" else 0
        level = self.levels[-1]
        if piece in _NESTING_WORDS:
            level.floor += 1
            level.chain += 1
        elif piece in _OPERATOR_WORDS:
            level.chain += 1

    def operator(self, piece: str) -> None:
        level = self.levels[-1]
        if piece in "([{":
            self.open(piece)
        elif piece in ")]}":
            self.close()
        elif piece == ",":
            level.chain = level.floor
        elif piece == ";" and len(self.levels) == 1:
            level.restart()
        elif piece == ":" and level.kind == _FIELD:
            level.kind = piece
        elif piece not in _PLAIN:
            level.chain += 1
