"""Regular expressions of modules, compiled when they are first asked for.

To compile one takes half a millisecond. A run over a small file asks for a tenth of those that its modules define, and
compiling all of them was a third of its time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, AnyStr, cast


class _Later:
    """Stands for a compiled pattern, whose methods it has as its own from the first use on."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self.flags)
        self.__dict__.update((each, getattr(compiled, each)) for each in _METHODS)
        return getattr(compiled, name)


_METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")


class LinePattern:
    """What a line of some text says. A line that does has one of the `words`, which are found far faster."""

    def __init__(self, pattern: str, words: str) -> None:
        self._pattern = regex(pattern, re.MULTILINE)
        self._words = words.split()

    def is_in(self, text: str) -> bool:
        """Whether some line says it."""
        return any(self._pattern.search(text, *line) for word in self._words for line in _lines_with(word, text))


def says_name(text: str, name: str) -> bool:
    """Whether a text has a name as a whole word."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not (_is_of_word(text[at - 1 : at]) or _is_of_word(text[end : end + 1])):
            return True
        at = text.find(name, end)
    return False


def _is_of_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _lines_with(word: str, text: str) -> Iterator[tuple[int, int]]:
    """Where the lines with a word begin and end."""
    at = text.find(word)
    while at >= 0:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text.rfind("\n", 0, at) + 1, end
        at = text.find(word, end)


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like `re.compile`, but that an error in the `pattern` is raised where it is first used."""
    return cast("re.Pattern[AnyStr]", _Later(pattern, flags))
