"""What is linted as one: a folder, an archive or a single file, brought to a temporary folder of its own.

An input is a world of its own. Its files see each other, whatever was around it is not there, and so what is found
depends on nothing but the content that its digest is made of. Nothing of an archive is trusted: no link is made, no
name leads out of the folder, and what is read is bounded.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import posixpath
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from torchdevlint.config import DEFAULT_EXCLUDE
from torchdevlint.discover import SUFFIXES
from torchdevlint.files import content, is_file, is_inside
from torchdevlint.project.tree import TEXTS
from torchdevlint.source.notebook import NOTEBOOK

TARS = (".tar", ".tar.gz", ".tgz")
ZIPS = (".zip", ".whl")
MOST_FILES = 200_000
MOST_TEXT = 512 * 2**20
"""Bytes that the linter may read of one archive."""
MOST_UNPACKED = 8 * 2**30
"""Bytes of a tar, which can only be read from its start to its end."""
LONGEST_READ = 64 * 2**20
"""Bytes that a tar is asked for at once. A member is read in pieces; it is a header that would ask for more."""

_READ = (*SUFFIXES, NOTEBOOK, *TEXTS, ".gitignore")
"""Names of files whose content the linter may ask for end in one of these. Of all others it sees the names."""
_LEFT_OUT = frozenset(DEFAULT_EXCLUDE) - {"_build", "buck-out", "build", "dist"}
"""Folders that are beside a project and no part of it. (A package may be called `build`.)"""
_PIECE = 2**20
_DAMAGED = (EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, UnicodeDecodeError)

Entry = tuple[str, "Callable[[], bytes] | None"]
"""The name of a file in an input, with ``/``, and what reads its content if the linter may ask for that."""


class BadInputError(Exception):
    """An input that cannot be linted; the message says why, without its name."""


def digest_of(path: str) -> str:
    """The SHA-256 of what an input holds, in hexadecimal digits.

    That of a file is the digest of its bytes; that of a folder is made of the names of its files, and of the contents
    that the linter may read. Raises BadInputError for what cannot be read.
    """
    try:
        if not os.path.isdir(path):  # noqa: PTH112
            with open(path, "rb") as file:  # noqa: PTH123
                _refuse_what_is_no_file(file.fileno())
                return _digest_of_stream(file)
        whole = hashlib.sha256()
        for name, read in _of_folder(path):
            inside = hashlib.sha256(read()).digest() if read else b""
            whole.update(b"%s\0%s" % (os.fsencode(name), inside))
        return whole.hexdigest()
    except OSError as error:
        raise BadInputError(f"cannot be read: {error.strerror or error}") from error


def bring(path: str, folder: Path) -> None:
    """Write what the linter may read of an input below `folder`, and empty files for all else, whose names it may ask.

    The folder is made the root of a project unless the input has one of its own. Raises BadInputError for an archive
    that is damaged, protected by a password, or more than the limits of this module, and for one with a name or a
    link that leads out of it.
    """
    (folder / ".git").mkdir()
    try:
        for count, (name, read) in enumerate(entries(path), 1):
            if count > MOST_FILES:
                raise BadInputError(f"it holds more than {MOST_FILES:,} files")
            if name.split("/", 1)[0] == ".git":
                continue
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(read() if read else b"")
    except _DAMAGED as error:
        raise BadInputError(f"the archive is damaged: {error}") from error
    except NotImplementedError as error:
        raise BadInputError(f"the archive cannot be unpacked: {error}") from error
    except OSError as error:
        raise BadInputError(f"cannot be unpacked: {error.strerror or error}") from error


def entries(path: str) -> Iterator[Entry]:
    """The files of an input. Raises BadInputError."""
    if os.path.isdir(path):  # noqa: PTH112
        return _of_folder(path)
    name = Path(path).name
    if name.endswith(TARS):
        return _of_tar(path)
    if name.endswith(ZIPS):
        return _of_zip(path)
    if name.endswith((*SUFFIXES, NOTEBOOK)):
        return iter([(name, lambda: content(path))])
    raise BadInputError(f"neither a folder, nor a Python file, nor an archive ({', '.join((*TARS, *ZIPS))})")


def _of_folder(path: str) -> Iterator[Entry]:
    """What is below a folder, sorted. Links are followed to files of the folder only."""
    root = Path(path).resolve()
    for folder, folders, files in os.walk(root, onerror=_raised):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        for name in sorted(files):
            file = Path(folder, name)
            if is_file(file) and (not file.is_symlink() or is_inside(file, root)):
                yield file.relative_to(root).as_posix(), _reader(file) if name.endswith(_READ) else None


def _of_tar(path: str) -> Iterator[Entry]:
    text = 0
    with open(path, "rb") as raw:  # noqa: PTH123
        _refuse_what_is_no_file(raw.fileno())
        stream = raw if path.endswith(".tar") else gzip.GzipFile(fileobj=raw)
        with tarfile.open(fileobj=_Bounded(stream), mode="r:") as tar:
            while (member := tar.next()) is not None:
                tar.members.clear()  # type: ignore[attr-defined] # what is behind is not asked for again
                name = _inside(member.name)
                if member.issym():
                    _inside(posixpath.join(posixpath.dirname(member.name), member.linkname), "a link")
                elif member.islnk():
                    _inside(member.linkname, "a link")
                if not member.isreg():
                    continue
                wanted = name.endswith(_READ)
                text = _counted(text, member.size if wanted else 0)
                yield name, _member_reader(tar, member) if wanted else None


def _of_zip(path: str) -> Iterator[Entry]:
    text = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = _inside(member.filename)
            if member.is_dir():
                continue
            if member.flag_bits & 1:
                raise BadInputError("the archive is protected by a password")
            if stat.S_ISLNK(member.external_attr >> 16):
                target = archive.open(member).read(4096).decode("utf-8", "surrogateescape")
                _inside(posixpath.join(posixpath.dirname(member.filename), target), "a link")
                continue
            wanted = name.endswith(_READ)
            text = _counted(text, member.file_size if wanted else 0)
            yield name, _zip_reader(archive, member) if wanted else None


class _Bounded(io.RawIOBase):
    """A stream of which neither too much is asked for at once nor too much in all."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._stream.tell()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_SET and offset > MOST_UNPACKED:
            raise BadInputError(f"it unpacks to more than {MOST_UNPACKED:,} bytes")
        return self._stream.seek(offset, whence)

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= LONGEST_READ:
            raise BadInputError(f"a header of the archive is longer than {LONGEST_READ:,} bytes")
        return self._stream.read(size)


def _counted(before: int, size: int) -> int:
    if before + size > MOST_TEXT:
        raise BadInputError(f"it holds more than {MOST_TEXT:,} bytes of text")
    return before + size


def _inside(name: str, what: str = "a name") -> str:
    """A name of an archive, with ``/``. Raises BadInputError if it leads out of it."""
    plain = posixpath.normpath(name.replace("\\", "/"))
    if plain.startswith(("/", "../")) or plain == ".." or os.path.splitdrive(plain)[0] or "\0" in plain:
        raise BadInputError(f"{what} leads out of the archive: {name!r}")
    return plain


def _reader(file: Path) -> Callable[[], bytes]:
    return lambda: content(file)


def _member_reader(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Callable[[], bytes]:
    def read() -> bytes:
        opened = tar.extractfile(member)
        assert opened is not None, "it is a regular file"
        with opened:
            return b"".join(iter(lambda: opened.read(_PIECE), b""))

    return read


def _zip_reader(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Callable[[], bytes]:
    return lambda: archive.read(member)


def _digest_of_stream(stream: io.BufferedReader) -> str:
    whole = hashlib.sha256()
    while piece := stream.read(_PIECE):
        whole.update(piece)
    return whole.hexdigest()


def _refuse_what_is_no_file(descriptor: int) -> None:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise BadInputError("not a regular file")


def _raised(error: OSError) -> None:
    raise error
