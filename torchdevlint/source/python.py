"""Python's own parser, as a linter that may run in several threads has to call it.

Before Python 3.11.8 and 3.12.2 the depth of all trees that are being made is counted in one place, so that two threads
which parse at the same time may get a ``SystemError`` (python/cpython#106905). Nor may two threads put warnings aside
at the same time: whoever is done first takes the filter of the other. So one thread parses at a time.
"""

from __future__ import annotations

import ast
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_ALONE = threading.RLock()

if hasattr(os, "register_at_fork"):  # a fork has no other thread that would give it back
    os.register_at_fork(before=_ALONE.acquire, after_in_parent=_ALONE.release, after_in_child=_ALONE.release)


@contextmanager
def _alone_and_quiet() -> Iterator[None]:
    """Warnings such as those for invalid escapes are of no interest."""
    with _ALONE, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def module_of(text: str | bytes) -> ast.Module:
    """The tree of a module. Raises what `ast.parse` does, which may be RecursionError or MemoryError."""
    with _alone_and_quiet():
        return ast.parse(text)


def expression_of(text: str) -> ast.expr:
    """The tree of an expression. Raises what `ast.parse` does, which may be RecursionError or MemoryError."""
    with _alone_and_quiet():
        return ast.parse(text, mode="eval").body


def literal_of(text: str) -> Any:
    """What a literal means. Raises what `ast.literal_eval` does: SyntaxError or ValueError for what is none."""
    with _alone_and_quiet():
        return ast.literal_eval(text)
