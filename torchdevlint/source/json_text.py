"""Where the values of a JSON text stand, and the characters of its strings, which Python's own reader does not say.

The texts have been read before: they are known to be JSON.
"""

from __future__ import annotations

import json
import re

from torchdevlint.patterns import regex

Place = tuple[int, int]
"""Where a value starts, and where it ends."""

_BLANK = regex(r"[ \t\r\n]*")
_CHARACTER = regex(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)
_read = json.JSONDecoder().raw_decode


def start(text: str) -> int:
    """Where the one value of the text starts."""
    return _after_blanks(text, 0)


def members(text: str, at: int) -> dict[str, Place]:
    """The values of the object that starts at `at`, by their keys; of a key that is there twice, the last one."""
    found: dict[str, Place] = {}
    at = _after_blanks(text, at + 1)
    while text[at] != "}":
        key, at = _read(text, at)
        begin = _after_blanks(text, _after_blanks(text, at) + 1)
        end = _read(text, begin)[1]
        found[key] = (begin, end)
        at = _next(text, end)
    return found


def items(text: str, at: int) -> list[Place]:
    """The values of the array that starts at `at`."""
    found: list[Place] = []
    at = _after_blanks(text, at + 1)
    while text[at] != "]":
        end = _read(text, at)[1]
        found.append((at, end))
        at = _next(text, end)
    return found


def character(text: str, at: int, number: int) -> int:
    """Where the character with a `number`, from 0, stands in the string that starts at `at`; its length: its end."""
    at += 1
    for _ in range(number):
        at = _CHARACTER.match(text, at).end()  # type: ignore[union-attr]
    return at


def inside(content: str, like: str) -> str:
    """What stands for `content` within the quotes of a string, in a text that is written as `like` is."""
    return json.dumps(content, ensure_ascii=like.isascii())[1:-1]


def _next(text: str, end: int) -> int:
    """Where the next value starts, or what holds them all ends, behind a value that ends at `end`."""
    at = _after_blanks(text, end)
    return _after_blanks(text, at + 1) if text[at] == "," else at


def _after_blanks(text: str, at: int) -> int:
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]
