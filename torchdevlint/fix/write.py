"""Replacing a file: at any moment it is the old or the new one, whole."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from torchdevlint.files import content


def replace_content(filename: str, old: bytes, new: bytes) -> None:
    """Make the content of a file, which is `old`, `new`; its mode stays, and so does a link to it.

    The new content is written beside the file and takes its place when it is on the disk. A file that has the new
    content already, since it was replaced under another of its names, stays. Raises OSError if the file has changed
    since it was read, is not a regular file that may be written, or the disk is full: then it is as it was.
    """
    path = Path(filename).resolve()
    now = content(path)
    if now == new:
        return
    if now != old:
        raise OSError(errno.ESTALE, "it has changed while it was linted")
    status = path.stat()
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".torchdevlint", dir=path.parent)
    beside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(descriptor)
        _make_alike(beside, status)
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def _make_alike(beside: Path, status: os.stat_result) -> None:
    """The mode stays, and the owner where this user may say so."""
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(beside, status.st_uid, status.st_gid)
    beside.chmod(stat.S_IMODE(status.st_mode))
