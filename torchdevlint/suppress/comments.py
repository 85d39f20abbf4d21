"""From a text to its suppression comments, and to the lines that flake8 takes for one."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from msgspec import Struct

from torchdevlint.patterns import regex
from torchdevlint.rules import prefixes

NOQA = regex(r"# noqa(?::\s?(?P<keys>(?:[A-Z]+[0-9]+[,\s]*)+))?", re.IGNORECASE)
NOQA_FILE = regex(r"^[^\S\n]*# flake8[:=][^\S\n]*noqa", re.IGNORECASE | re.MULTILINE)
MARK = regex(r"#\s*torchdevlint:")
"""How a comment of this project begins."""
DIRECTIVES = ("ignore", "file-ignore", "off", "on", "reveal")
_OWN = regex(
    rf"{MARK.pattern}\s*(?P<kind>file-ignore|ignore|off|on)(?![\w-])"
    r"(?:\s*\[(?P<keys>[^][]*)\]|(?!\s*\[|\s*(?:[:=(]\s*)?[A-Z]{1,3}\d))"
)
"""What looks like codes without closed brackets is none: it would silence every rule where one was meant."""
REVEAL = regex(rf"{MARK.pattern}\s*reveal(?![\w-])")
KEY = regex(r"[^,\s]+")

Rows = tuple[int, int]
"""The first and the last row of a line that goes over several."""
Comment = tuple[int, int, str]
"""Its row, the 0-based column of its ``#``, and its text."""


class Pragma(Struct, frozen=True):
    """One suppression in the text: `kind` is ``noqa`` or a directive; `keys` None stands for all.

    `column` is the 0-based place of its ``#`` in the line and `length` how far it goes from there; `keys_at` is the
    column at which its keys begin. One that stands `alone` has no code in its line.
    """

    kind: str
    row: int
    column: int
    length: int
    keys: tuple[str, ...] | None
    keys_at: int = 0
    alone: bool = False


def noqa_of(match: re.Match[str], row: int, column: int) -> Pragma:
    """`length` leaves out the blanks that the expression takes in after the last code."""
    at = column + match.start("keys") - match.start()
    return Pragma("noqa", row, column, len(match[0].rstrip()), keys_of(match["keys"]), at)


def own_comments(comments: Iterable[Comment], lines: Sequence[str]) -> Iterator[Pragma]:
    """What is silenced by comments of this project."""
    for row, column, comment in comments:
        for match in _OWN.finditer(comment):
            alone = lines[row - 1].lstrip().startswith("#")
            place = (row, column + match.start(), len(match[0]), keys_of(match["keys"]))
            yield Pragma(match["kind"], *place, column + match.start("keys"), alone)


def is_readable(comment: str, at: int) -> bool:
    """Whether what begins in a comment with `MARK` is a directive that can be followed."""
    return bool(_OWN.match(comment, at) or REVEAL.match(comment, at))


def keys_of(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(KEY.findall(text))


def may_be_unused(text: str) -> bool:
    """Whether a text may hold suppressions of which something is to be said: they name rules, or are our own."""
    return "torchdevlint:" in text or _noqa_of_rules().search(text) is not None


@cache
def _noqa_of_rules() -> re.Pattern[str]:
    return re.compile(rf"# noqa[^\r\n]*(?:{'|'.join(prefixes())})", re.IGNORECASE)


def scanned(lines: Sequence[str]) -> tuple[dict[int, Rows], list[Comment]]:
    """First and last row of each joined line, by row; and each comment of interest.

    In a text that cannot be tokenized no line is joined with another, and a line may hold a comment anywhere.
    """
    joined: dict[int, Rows] = {}
    comments: list[Comment] = []
    unset = len(lines) + 2
    first, last = unset, 0
    try:
        for kind, token, (row, column), (end_row, _), _ in tokenize.generate_tokens(
            io.StringIO("\n".join(lines)).readline
        ):
            if kind in (tokenize.ENDMARKER, tokenize.DEDENT):
                continue
            first, last = min(first, row), max(last, end_row)
            if kind == tokenize.COMMENT and _of_interest(token):
                comments.append((row, column, token))
            elif kind in (tokenize.NL, tokenize.NEWLINE):
                if last > first:
                    joined.update(dict.fromkeys(range(first, last + 1), (first, last)))
                first, last = unset, 0
    except (tokenize.TokenError, SyntaxError, ValueError):
        return {}, [
            (row, line.index("#"), line[line.index("#") :])
            for row, line in enumerate(lines, start=1)
            if "#" in line and _of_interest(line)
        ]
    return joined, comments


def _of_interest(text: str) -> bool:
    return "torchdevlint:" in text or "noqa" in text.lower()
