"""What a terminal may be given: escaped text, its width in cells, colours, wrapping."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

RESET = "\x1b[0m"
STYLES = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "advice": "\x1b[1;36m",
    "line": "\x1b[1;34m",
    "strong": "\x1b[1m",
    "path": "\x1b[36m",
    "good": "\x1b[1;32m",
    "dim": "\x1b[2m",
}
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def paint(text: str, style: str, color: bool) -> str:
    """`text` in one of `STYLES`, or as it is without colour."""
    return f"{STYLES[style]}{text}{RESET}" if color and text else text


def escape(text: str) -> str:
    """`text` without anything that moves the cursor, reorders or hides text: controls, bidi marks, lone surrogates."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(visible(char) for char in text)


def one_line(text: str) -> str:
    """Escaped text without line ends."""
    return escape(" ".join(text.split("\n")))


def name(filename: str) -> str:
    """A file name that starts a line: escaped, and nothing that GitHub's runner takes for a command (``::error::``)."""
    shown = escape(filename)
    return f"./{shown}" if shown.lstrip().startswith("::") else shown


def visible(char: str) -> str:
    """One code point as it is shown; the unsafe ones as a Python escape."""
    if unicodedata.category(char) in _UNSAFE:
        return char.encode("unicode_escape", "surrogatepass").decode("ascii")
    return char


def width(text: str) -> int:
    """How many cells escaped text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if _adds_nothing(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _adds_nothing(char: str) -> bool:
    """Whether it is drawn over the character before it: accents, and what only chooses between two looks."""
    return unicodedata.category(char) in ("Mn", "Me")


def wrap(text: str, first: str, rest: str, columns: int | None) -> Iterator[str]:
    """Lines of `text` of at most `columns` cells; `first` and `rest` are the prefixes, counted as uncoloured.

    Words are never broken. Without `columns` a line stays whole, so that it can be searched for.
    """
    prefix = first
    for paragraph in text.splitlines() or [""]:
        line = ""
        for word in paragraph.split(" ") if columns else [paragraph]:
            if columns and line and width(prefix) + width(line) + 1 + width(word) > columns:
                yield prefix + line
                prefix, line = rest, word
            else:
                line = f"{line} {word}" if line else word
        yield prefix + line
        prefix = rest
