"""Text in, `ast.Module` out, whichever Python the text was written for.

`ast` parses first: it is fast and fails safely. Where it refuses, libcst decides, since it knows syntax that is newer
than the running interpreter, and its tree is converted. libcst is imported only then.
"""

from __future__ import annotations

import ast
import re

from torchdevlint.patterns import regex
from torchdevlint.source.imported import keep_imports
from torchdevlint.source.python import module_of
from torchdevlint.syntax.depth import check_depth
from torchdevlint.syntax.errors import InvalidSyntaxError, ParseError, TooDeepError
from torchdevlint.syntax.nesting import check_text
from torchdevlint.syntax.newer import newer_than

__all__ = ["InvalidSyntaxError", "ParseError", "TooDeepError", "parse"]

_NEWLINE = regex(r"\r\n?|\n")
_NEW_SYNTAX = ("invalid syntax", "expected '('", "f-string", "multiple exception types")
"""How Python words its refusal of syntax that it does not know yet."""
_TOO_DEEP = "too many"
"""How Python's words begin where it is the depth that it refuses: of parentheses, blocks and indentation."""


def parse(text: str) -> ast.Module:
    """The tree of a source text, whose names know what they are imported as.

    A recursive walk over it with up to three frames a node stays within Python's default recursion limit.
    Raises InvalidSyntaxError, or TooDeepError where the text is nested too deeply to be parsed or walked.
    """
    tree = _parse(text)
    check_depth(tree)
    keep_imports(tree)
    return tree


def _parse(text: str) -> ast.Module:
    nul = text.find("\0")
    if nul >= 0:
        raise _error_at(text, nul, "source code cannot contain NUL characters")
    try:
        return module_of(text)
    except SyntaxError as error:
        return _second_opinion(text, error)
    except UnicodeEncodeError as error:
        raise _error_at(text, error.start, "source code cannot contain surrogates") from None
    except (RecursionError, MemoryError):
        raise TooDeepError("nested too deeply for Python's parser") from None


def _second_opinion(text: str, refusal: SyntaxError) -> ast.Module:
    """The tree that libcst makes of a text which `ast` refused, be it a web page under the name of a module."""
    try:
        check_text(text)
    except TooDeepError:
        if refusal.msg.startswith(_TOO_DEEP):
            raise
        raise _invalid(text, refusal, "") from None
    import libcst

    from torchdevlint.syntax.convert import convert

    try:
        module = libcst.parse_module(text)
    except libcst.ParserSyntaxError as error:
        raise _invalid(text, refusal, error.message) from None
    except (RecursionError, MemoryError):
        raise TooDeepError("nested too deeply for libcst") from None
    except Exception:  # noqa: BLE001 (bytes beside text, say: its nodes refuse in several ways)
        raise _invalid(text, refusal, "") from None
    try:
        return convert(module, text)
    except RecursionError:
        raise TooDeepError("nested too deeply to be converted") from None


def _invalid(text: str, refusal: SyntaxError, opinion: str) -> InvalidSyntaxError:
    """The error to show: Python's words and place, unless it stumbled over new syntax and libcst got further down.

    libcst names the place after the token that it could not read, which may be in the next row that holds code.
    """
    from importlib.metadata import version  # it takes forty milliseconds, a seventh of a start

    rows = _NEWLINE.split(text)
    row, column, reason = refusal.lineno or 1, refusal.offset or 1, refusal.msg
    first = row
    place = re.search(r"error at (\d+):(\d+)", opinion)
    if place and any(map(_holds_code, rows[row : int(place[1]) - 1])) and reason.startswith(_NEW_SYNTAX):
        row, column, reason = int(place[1]), int(place[2]), "invalid syntax"
    row = min(max(row, 1), len(rows))
    newer = newer_than(version("libcst"), text, first, int(place[1]) if place else len(rows))
    if newer is not None:
        reason = f"{reason}; {newer.reason}"
    column = min(max(column, 1), len(rows[row - 1]) + 1)
    return InvalidSyntaxError(reason, row, column, newer.remedy if newer is not None else "")


def _holds_code(row: str) -> bool:
    return not row.lstrip().startswith("#") and bool(row.strip())


def _error_at(text: str, index: int, reason: str) -> InvalidSyntaxError:
    before = _NEWLINE.split(text[:index])
    return InvalidSyntaxError(reason, len(before), len(before[-1]) + 1)
