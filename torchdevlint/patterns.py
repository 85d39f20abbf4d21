"""Regular expressions of modules, compiled when they are first asked for.

To compile one takes half a millisecond. A run over a small file asks for a tenth of those that its modules define, and
compiling all of them was a third of its time.
"""

from __future__ import annotations

import re
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


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like `re.compile`, but that an error in the `pattern` is raised where it is first used."""
    return cast("re.Pattern[AnyStr]", _Later(pattern, flags))
