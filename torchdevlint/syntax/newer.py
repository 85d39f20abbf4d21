"""Which syntax a libcst does not know yet: where that is why a file cannot be read, its user is told what would do it.

The versions were found by reading each of these with every release of libcst since 1.2.
"""

from __future__ import annotations

import re

from msgspec import Struct

from torchdevlint.patterns import regex


class Syntax(Struct, frozen=True):
    """Syntax of a later Python, the first libcst that reads it, and how it looks in `_bare` text."""

    name: str
    python: str
    libcst: tuple[int, ...]
    looks: re.Pattern[str]


class Newer(Struct, frozen=True):
    """Why a file cannot be read, and what to do about it, in words."""

    reason: str
    remedy: str


def _looks(pattern: str) -> re.Pattern[str]:
    return regex(pattern, re.MULTILINE | re.VERBOSE)


_TEMPLATE = r"\b(?i:t|tr|rt)''"
_NEVER = (1_000_000,)
SYNTAX = (
    Syntax("template strings beside each other", "3.14", _NEVER, _looks(rf"{_TEMPLATE}\s*\w*''|''\s*{_TEMPLATE}")),
    Syntax("template strings", "3.14", (1, 8, 4), _looks(_TEMPLATE)),
    Syntax("`except A, B:`", "3.14", (1, 8, 4), _looks(r"^[ \t]*except\b[^():\n]*,")),
    Syntax(
        "defaults of type parameters", "3.13", (1, 4),
        _looks(r"\b(?:class|def|type)\s+\w+\s*\[(?:[^\]\[=]|\[[^\]\[]*\])*="),
    ),
    Syntax("lazy imports", "3.15", (1, 9), _looks(r"^[ \t]*lazy[ \t]+(?:import|from)\b")),
    Syntax("unpacking in comprehensions", "3.15", (1, 9), _looks(r"[\[({]\s*\*\*?[^\]\[(){}]*\bfor\b")),
)  # fmt: skip

_NO_CODE = regex(
    r"""
      \#[^\r\n]*
    | (?P<prefix>\b[A-Za-z]{1,2})?
      (?:'''(?:\\.|[^\\])*?'''|\"""(?:\\.|[^\\])*?\"""|'(?:\\.|[^\\'\r\n])*'?|"(?:\\.|[^\\"\r\n])*"?)
    """,
    re.DOTALL | re.VERBOSE,
)
_NEWLINE = regex(r"\r\n?|\n")


def newer_than(installed: str, text: str, first: int, last: int) -> Newer | None:
    """What a libcst of the version `installed` does not know in the rows `first` to `last` of a text, if anything."""
    version = tuple(int(number) for number in re.findall(r"\d+", installed)[:3])
    rows = "\n".join(_NEWLINE.split(_bare(text))[first - 1 : last])
    for syntax in SYNTAX:
        if syntax.libcst > version and syntax.looks.search(rows):
            return _newer(syntax, installed)
    return None


def _newer(syntax: Syntax, installed: str) -> Newer:
    unknown = f"libcst {installed} does not know {syntax.name}"
    python = f"run the linter with Python {syntax.python} or newer"
    if syntax.libcst is _NEVER:
        return Newer(unknown, python)
    enough = ".".join(map(str, syntax.libcst))
    return Newer(f"{unknown}, {enough} and newer do", f"install `libcst>={enough}`, or {python}")


def _bare(text: str) -> str:
    """A text without what its comments and strings say, in rows as before."""
    return _NO_CODE.sub(_empty, text)


def _empty(found: re.Match[str]) -> str:
    literal = "" if found[0].startswith("#") else f"{found['prefix'] or ''}''"
    return literal + "\n" * len(_NEWLINE.findall(found[0]))
