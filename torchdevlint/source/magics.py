"""What IPython adds to Python in the cells of a notebook, turned into Python of the same number of rows.

IPython's own rules say what is a magic: a cell magic starts a cell, a line magic starts a statement or stands behind
``=``, none is within a string or brackets, and a backslash at its end takes the next row in. They are described in
https://ipython.readthedocs.io/en/stable/interactive/magics.html and written in ``IPython/core/inputtransformer2.py``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from torchdevlint.patterns import regex
from torchdevlint.source.python import module_of

_OF_PYTHON = frozenset(
    "capture debug ipytest lprun memit mprun prun pyinstrument scalene snakeviz time timeit wandb".split()
)
"""Cell magics that run the rest of the cell as Python, with the names of the notebook."""
_OF_STATEMENTS = frozenset("lprun memit mprun prun snakeviz time timeit".split())
"""Line magics that run the rest of the line as Python."""
_WITHOUT_PERCENT = frozenset(
    "alias autoreload cat cd conda cp env ldir less load_ext ls ll lx mamba man matplotlib micromamba mkdir more mv "
    "pip pwd pylab rm rmdir run set_env uv who whos".split()
)
"""Line magics that need no ``%`` in a cell of one row."""

_CELL_MAGIC = regex(r"%%(?!\w+\?)(\S*)")
_ESCAPED = regex(r"([ \t]*)([%!?/,;].*)", re.DOTALL)
_ASSIGNED = regex(r"((?:[\w.,*: \t]|\[[^][=]*\])+)=[ \t]*(?:!|%[ \t]*[^\W\d])")
_LINE_MAGIC = regex(r"%(\w+)[ \t]*(.*)", re.DOTALL)
_OPTIONS = regex(r"(?:-[a-zA-Z]+[ \t]*\d*[ \t]+)*")
_FIRST_WORD = regex(r"(\w+)(?:[ \t]+[^=( \t]|[ \t]*$)")
_MARK = regex(r"#|\"\"\"|'''|[\"'()\[\]{}]")
_IN_STRING = {quote: regex(rf"\\.|{quote}") for quote in ("'", '"', "'''", '"""')}
_UNKNOWN = "get_ipython()"


class Translated(Struct, frozen=True):
    """The rows of a cell as Python, and the numbers, from 0, of those that are not what they were."""

    rows: tuple[str, ...]
    changed: frozenset[int]


def translate(rows: Sequence[str]) -> Translated:
    """The rows of a cell, none of which has its line end, as Python."""
    out = _undented(rows)
    first = next((at for at, row in enumerate(out) if row.strip() and row[0] != "#"), 0)
    if out and (magic := _CELL_MAGIC.match(out[first])):
        rest = translate(out[first + 1 :]).rows if magic[1] in _OF_PYTHON else ("",) * (len(out) - first - 1)
        out = [*out[:first], "", *rest]
    else:
        _translate_lines(out)
    return Translated(tuple(out), frozenset(at for at, row in enumerate(out) if row != rows[at]))


def _undented(rows: Sequence[str]) -> list[str]:
    """The rows without the indentation of the first one that is not blank."""
    first = next((row for row in rows if row.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    return [row.removeprefix(indent) for row in rows]


def _translate_lines(rows: list[str]) -> None:
    """Turns line magics and all else that is no Python into it; cell magics have gone before."""
    first = next((at for at, row in enumerate(rows) if row.strip()), 0)  # IPython drops blank rows before that
    is_alone = len(rows) == first + 1 or (len(rows) == first + 2 and not rows[-1])  # the end of the last is no row
    if is_alone and (word := _FIRST_WORD.match(rows[first])) and word[1] in _WITHOUT_PERCENT:
        rows[first] = rows[first] if _is_python(rows[first]) else _python_of(f"%{rows[first]}")
        return
    scanner, at = _Scanner(), 0
    while at < len(rows):
        row, end = rows[at], at + 1
        fresh = scanner.is_between_statements()
        magic = _ESCAPED.match(row) if fresh else None
        assigned = _ASSIGNED.match(row) if fresh and not magic else None
        if magic or assigned:
            while rows[end - 1].endswith("\\") and end < len(rows):
                end += 1
            if magic:
                command = " ".join(each.removesuffix("\\") for each in (magic[2], *rows[at + 1 : end]))
                rows[at] = magic[1] + _python_of(command)
            elif assigned:
                rows[at] = f"{assigned[1]}= {_UNKNOWN}"
            rows[at + 1 : end] = [""] * (end - at - 1)
        else:
            scanner.pass_over(row)
            if fresh and scanner.asks_for_help(row):
                rows[at] = row[: len(row) - len(row.lstrip())] + "pass"
        at = end


def _python_of(command: str) -> str:
    """What stands for a magic or a shell line."""
    magic = _LINE_MAGIC.match(command)
    if magic is None:
        return "pass"
    name, rest = magic[1], magic[2]
    if name in ("env", "set_env"):
        return _assignment(rest)
    if name in _OF_STATEMENTS:
        statement = rest[_OPTIONS.match(rest).end() :].strip()  # type: ignore[union-attr]
        return statement if statement and _is_python(statement) else "pass"
    return "pass"


def _assignment(text: str) -> str:
    """What ``%env`` does: it takes all behind the name as the value, with quotes and whatever else is there."""
    name, sign, value = text.partition("=" if "=" in text else " ")
    name, value = name.strip(), value.strip()
    if not sign or not name or not value or len(name.split()) > 1:
        return "pass"
    known = not re.search(r"[${]", value)
    return f"import os; os.environ[{name!r}] = {repr(value) if known else _UNKNOWN}"


def _is_python(text: str) -> bool:
    try:
        module_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


class _Scanner:
    """Reads rows of Python one after the other, to know where a statement can start."""

    def __init__(self) -> None:
        self._quote = ""
        self._depth = 0
        self._continued = self._ends_in_code = False

    def is_between_statements(self) -> bool:
        return not (self._quote or self._depth or self._continued)

    def asks_for_help(self, row: str) -> bool:
        """Whether `row`, the last one that was passed over, ends a statement with a question mark."""
        return self._ends_in_code and row.rstrip().endswith("?") and self.is_between_statements()

    def pass_over(self, row: str) -> None:
        at, comment = 0, False
        while at < len(row):
            if self._quote:
                end = _end_of_string(row, at, self._quote)
                if end is None:
                    break
                self._quote, at = "", end
                continue
            mark = _MARK.search(row, at)
            if mark is None:
                break
            if mark[0] == "#":
                comment = True
                break
            at = mark.end()
            if mark[0] in "([{":
                self._depth += 1
            elif mark[0] in ")]}":
                self._depth = max(self._depth - 1, 0)
            else:
                self._quote = mark[0]
        goes_on = (len(row) - len(row.rstrip("\\"))) % 2 == 1 and not comment
        self._ends_in_code = not comment and not self._quote
        self._continued = goes_on and not self._quote
        if len(self._quote) == 1 and not goes_on:
            self._quote = ""


def _end_of_string(row: str, at: int, quote: str) -> int | None:
    """The place behind the quotes that close a string which goes on at `at`; None if it is not closed in the row."""
    marks = _IN_STRING[quote].finditer(row, at)
    return next((mark.end() for mark in marks if mark[0] == quote), None)
