"""The source lines that a code frame shows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from torchdevlint.files import content
from torchdevlint.source.text import Source, UndecodableError, decode


@lru_cache(maxsize=4)
def lines_of_file(filename: str) -> Sequence[str]:
    """The lines of a file as it is now; none if it cannot be read."""
    try:
        return lines_of_bytes(content(filename))
    except OSError:
        return ()


def lines_of_bytes(data: bytes) -> Sequence[str]:
    """The lines of `data`; bytes that its encoding does not have come out as ``\\xNN``."""
    try:
        text = decode(data)
    except UndecodableError:
        text = data.decode("utf-8", "backslashreplace")
    return Source(text).lines
