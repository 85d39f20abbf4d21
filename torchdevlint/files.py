"""Reading files that anybody may have put there: whatever a name stands for, reading it ends."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

try:  # `hashlib` has it from there, but loads OpenSSL when it is imported, which takes a fiftieth of a short run
    from _blake2 import blake2b as blake2b  # noqa: PLC0414 (it is for other modules)
except ImportError:
    from hashlib import blake2b as blake2b  # noqa: PLC0414 (it is for other modules)


def absolute(path: str) -> str:
    """The path from the root on; a link in it stays what it is."""
    return os.path.abspath(path)  # noqa: PTH100 (`resolve` would follow it)


def content(path: str | Path) -> bytes:
    """The content of a regular file.

    Raises OSError for everything else: a pipe without a writer would be waited for, and a device need not end.
    """
    with open(path, "rb", buffering=0, opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        try:
            return file.readall()
        except MemoryError as error:
            raise OSError(errno.ENOMEM, "too large for the memory that is left", str(path)) from error


def code_in(folder: str | Path) -> list[tuple[str, int, int]]:
    """The Python files in a folder and below, with their times and sizes, sorted."""
    return sorted(_code_in(folder))


def is_file(path: str | Path) -> bool:
    """Whether it is a regular file; False where one may not look, where ``Path.is_file`` raises."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: str | Path) -> bool:
    """Whether it is a folder; False where one may not look, where ``Path.is_dir`` raises."""
    return os.path.isdir(path)  # noqa: PTH112


def exists(path: str | Path) -> bool:
    """Whether there is anything; False where one may not look, where ``Path.exists`` raises."""
    return os.path.exists(path)  # noqa: PTH110


def is_inside(file: Path, folder: Path) -> bool:
    """Whether a file is in a folder or below, wherever links lead."""
    try:
        return file.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a link to itself, or no path at all
        return False


def _code_in(folder: str | Path) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _code_in(entry.path)
            elif entry.name.endswith(".py"):
                found = entry.stat()
                yield entry.path, found.st_mtime_ns, found.st_size


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
