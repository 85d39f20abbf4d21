"""The source lines that a code frame shows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from torchdevlint.files import content
from torchdevlint.source.notebook import sources
from torchdevlint.source.text import Source, UndecodableError, decode


@lru_cache(maxsize=4)
def lines_of_file(filename: str, cell: int | None = None) -> Sequence[str]:
    """The lines of a file as it is now, or of a cell of a notebook; none if it cannot be read."""
    try:
        data = content(filename)
    except OSError:
        return ()
    return lines_of_bytes(data) if cell is None else lines_of_cell(data, cell)


def lines_of_cell(data: bytes, number: int) -> Sequence[str]:
    """The lines of a cell of the notebook `data`; none if it has no such cell of Python."""
    try:
        source = sources(data)[number - 1]
    except (UndecodableError, RecursionError, IndexError):
        return ()
    return () if source is None else Source(source).lines


def lines_of_bytes(data: bytes) -> Sequence[str]:
    """The lines of `data`; bytes that its encoding does not have come out as ``\\xNN``."""
    try:
        text = decode(data)
    except UndecodableError:
        text = data.decode("utf-8", "backslashreplace")
    return Source(text).lines
