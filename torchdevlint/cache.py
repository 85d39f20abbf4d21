"""Results that are kept between runs, so that only what changed is analysed again.

A result is kept with everything that it depends on: the content of the file, the version of the linter and of Python,
the settings that the inference reads, where the imports that it followed led, and what binds the names that it used of
other files. It holds as long as all of these are as they were; which rules are selected is not among them, as long as
those were run. A file whose times and size are as they were is not read again, unless it had only just been written
then. Only plain data is kept, as JSON in an SQLite database. Whatever is wrong with it, the run goes on without.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from torchdevlint import __version__
from torchdevlint.config import Settings
from torchdevlint.files import content
from torchdevlint.model import Applicability, Edit, Fix, Note, Report, Severity, Span
from torchdevlint.project.locate import locate, submodule
from torchdevlint.project.modules import Library, digest_of
from torchdevlint.project.uses import BELOW, Uses

FOLDER = ".torchdevlint_cache"
_LAYOUT = "3"
"""Changes with the form of what is kept."""
DATABASE, TAG = "results.sqlite", "CACHEDIR.TAG"
_RESULTS = (
    "path BLOB PRIMARY KEY, context TEXT, digest TEXT, codes TEXT,"
    " pragmas INTEGER, reports TEXT, joined TEXT, uses TEXT"
)
_TABLES = (
    "CREATE TABLE files (path BLOB PRIMARY KEY, stamp TEXT, digest TEXT)",
    f"CREATE TABLE results ({_RESULTS})",
)
_TAG = """\
Signature: 8a477f597d28d172789f06886806bc55
# This is a cache of torchdevlint. Backups may leave it out: https://bford.info/cachedir/
"""
_SECONDS = 2.0
"""How long another run may keep the database to itself before this one does without."""
_SETTLED = 2_000_000_000
"""Nanoseconds after which a file that is written once more has another time, on every file system."""


class Entry(Struct, frozen=True):
    """What the analysis of one file gave: the reports of the rules `codes`, and what they depend on.

    `digest` is that of the bytes of the file; `pragmas` whether it has suppressions that may be unused; `joined` the
    first and last rows of lines that go over several and have reports.
    """

    digest: str
    codes: frozenset[str]
    pragmas: bool
    reports: tuple[tuple[str, Report], ...]
    joined: tuple[tuple[int, int], ...]
    uses: Uses


class Kept(Struct, frozen=True):
    """What is known of a file, whose bytes have this digest: see `Entry`."""

    digest: str
    pragmas: bool
    reports: tuple[tuple[str, Report], ...]
    joined: tuple[tuple[int, int], ...]


class Cache:
    """The kept results of one folder; use it as a context, at whose end new ones are written."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self._context = _context(settings)
        self._new: dict[str, Entry] = {}
        self._library = Library()
        self._digests: dict[str, str] = {}
        self._now = time.time_ns()
        self._stamps: dict[str, str] = {}
        """The times and sizes of files that were read, if they stand for what was read."""

    def __enter__(self) -> Cache:
        return self

    def save(self) -> None:
        """Write what is new; what cannot be written is not kept."""
        with suppress(OSError, sqlite3.Error, ValueError):
            self._write()
        self._new.clear()
        self._stamps.clear()

    def __exit__(self, *_: object) -> None:
        self.save()
        connection = self.__dict__.pop("_database", None)
        if connection is not None:
            connection.close()

    def get(self, path: str, codes: frozenset[str]) -> Kept | None:
        """What is known of the rules `codes` on the file at the absolute `path`, if it is known to hold."""
        try:
            row = self._rows.get(os.fsencode(path))
            if row is None or row[0] != self._digest(path) or not codes <= _as_codes(row[1]):
                return None
            uses = json.loads(row[5])
            if not self._still_holds(uses["imports"], uses["files"]):
                return None
            found = [] if row[3] == "[]" else json.loads(row[3])
            if not isinstance(found, list):
                return None
            reports = tuple((code, _report(each)) for code, each in found if _text(code) in codes)
            return Kept(row[0], bool(row[2]), reports, tuple(map(_rows_of, json.loads(row[4]))) if found else ())
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
            return None

    def put(self, path: str, entry: Entry) -> None:
        self._new[path] = entry

    @cached_property
    def _rows(self) -> dict[bytes, tuple[str, str, int, str, str, str]]:
        """Digest, codes, pragmas, reports, joined rows and uses by path, whose name need not be text."""
        rows = self._ask(
            "SELECT path, digest, codes, pragmas, reports, joined, uses FROM results WHERE context = ?", self._context
        )
        return {row[0]: row[1:] for row in rows}

    @cached_property
    def _files(self) -> dict[bytes, tuple[str, str]]:
        """The times and sizes of files, and the digests that they had then, by path."""
        return {row[0]: row[1:] for row in self._ask("SELECT path, stamp, digest FROM files")}

    def _ask(self, question: str, *values: str) -> list[Any]:
        try:
            return self._database.execute(question, values).fetchall()
        except (OSError, sqlite3.Error):
            return []

    @cached_property
    def _database(self) -> sqlite3.Connection:
        self.folder.mkdir(parents=True, exist_ok=True)
        _refuse_links(self.folder)
        for name, text in ((".gitignore", "*\n"), (TAG, _TAG)):
            with suppress(FileExistsError), (self.folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
        try:
            return _connected(self.folder / DATABASE)
        except sqlite3.OperationalError:
            raise  # it is there, and cannot be used now
        except sqlite3.DatabaseError:
            (self.folder / DATABASE).unlink()
            return _connected(self.folder / DATABASE)

    def _write(self) -> None:
        rows = [
            (
                os.fsencode(path),
                self._context,
                entry.digest,
                " ".join(sorted(entry.codes)),
                entry.pragmas,
                json.dumps([(code, to_builtins(report)) for code, report in entry.reports]),
                json.dumps(entry.joined),
                json.dumps({"imports": entry.uses.imports, "files": entry.uses.files}),
            )
            for path, entry in self._new.items()
        ]
        files = [(os.fsencode(path), stamp, self._digests[path]) for path, stamp in self._stamps.items()]
        if rows or files:
            with self._database as connection:
                connection.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
                connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", files)

    def _still_holds(self, imports: Iterable[list[Any]], files: Iterable[list[Any]]) -> bool:
        for importer, name, level, path in imports:
            found = submodule(importer, name) if level == BELOW else locate(importer, name, level)
            if found != path:
                return False
        return all(self._is_as_used(*each) for each in files)

    def _is_as_used(self, path: str, digest: str, names: dict[str, str]) -> bool:
        """Whether a file is as it was, or what was used of it is."""
        if self._digest(path) == digest:
            return True
        module = self._library.get(path)
        return module is not None and bool(digest) and all(module.digest(name) == each for name, each in names.items())

    def _digest(self, path: str) -> str:
        """Of the bytes of a file, which is read once in a run at most; empty if it cannot be read."""
        _text(path)
        found = self._digests.get(path)
        if found is None:
            found = self._digests[path] = self._found(path)
        return found

    def _found(self, path: str) -> str:
        try:
            status = os.stat(path)  # noqa: PTH116 (once for each file that is linted)
            stamp = f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {status.st_ino}"
            known = self._files.get(os.fsencode(path))
            if known is not None and known[0] == stamp and isinstance(known[1], str):
                return known[1]
            digest = digest_of(content(path))
        except OSError:
            return ""
        if max(status.st_mtime_ns, status.st_ctime_ns) + _SETTLED < self._now:
            self._stamps[path] = stamp
        return digest


@lru_cache(maxsize=64)
def _as_codes(text: str) -> frozenset[str]:
    return frozenset(text.split())


def clean(folder: Path) -> bool:
    """Remove a folder of kept results; False if it is none, or holds anything else, which then is all that stays.

    Raises OSError if something cannot be removed.
    """
    if folder.is_symlink() or not (folder / DATABASE).is_file():
        return False
    for file in (folder / ".gitignore", folder / TAG, *folder.glob(f"{DATABASE}*")):
        file.unlink(missing_ok=True)
    if any(folder.iterdir()):
        return False
    folder.rmdir()
    return True


def _refuse_links(folder: Path) -> None:
    """What is linted may bring a folder of this name, and links in it would lead what is kept somewhere else."""
    with os.scandir(folder) as entries:
        links = folder.is_symlink() or any(entry.is_symlink() for entry in entries)
    if links:
        raise OSError(f"{folder} is, or holds, a link")


def _connected(file: Path) -> sqlite3.Connection:
    """Raises DatabaseError for what is no database, or not one of this layout."""
    connection = sqlite3.connect(file, timeout=_SECONDS)
    try:
        connection.execute("PRAGMA synchronous = OFF")  # what a crash of the machine damages is made anew
        for table in _TABLES:
            connection.execute(table.replace("TABLE", "TABLE IF NOT EXISTS", 1))
        _check_layout(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _check_layout(connection: sqlite3.Connection) -> None:
    """Anything else in a database that somebody has brought, such as a view or a trigger, could run for ever."""
    found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
    if found != [(table,) for table in _TABLES]:
        raise sqlite3.DatabaseError("another layout")


def _context(settings: Settings) -> str:
    """What every result depends on."""
    inference = (
        settings.target_torch,
        settings.module_bases,
        settings.in_place_movers,
        settings.batch_movers,
        settings.device_managed_bases,
    )
    own_code = sorted(_own_code(str(Path(__file__).parent)))
    text = repr((_LAYOUT, __version__, own_code, sys.version_info[:2], inference))
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _own_code(folder: str) -> Iterator[tuple[str, int, int]]:
    """The files of the linter itself as they are, since it can change without its version while it is being written.

    To look at all 350 of them takes 0.7 ms in a start of 300, so an installed linter is looked at as well.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _own_code(entry.path)
            elif entry.name.endswith(".py"):
                found = entry.stat()
                yield entry.path, found.st_mtime_ns, found.st_size


def _report(data: dict[str, Any]) -> Report:
    """Raises TypeError, KeyError or ValueError for what is no report, as in a database that somebody else has made."""
    fix = data["fix"]
    return Report(
        span=_span(data["span"]),
        message=_text(data["message"]),
        symptom=_text(data["symptom"]),
        help=_text(data["help"]),
        notes=tuple(Note(_text(note["message"]), _span(note["span"])) for note in data["notes"]),
        fix=None
        if fix is None
        else Fix(
            Applicability(fix["applicability"]),
            _text(fix["message"]),
            tuple(Edit(_text(edit["content"]), _span(edit["span"])) for edit in fix["edits"]),
        ),
        severity=None if data["severity"] is None else Severity(data["severity"]),
    )


def _span(data: dict[str, Any]) -> Span:
    span = Span(**data)
    _text(span.file)
    if not all(type(each) is int and each > 0 for each in (span.row, span.column, span.end_row, span.end_column)):
        raise TypeError(span)
    return span


def _rows_of(data: list[Any]) -> tuple[int, int]:
    first, last = data
    if not all(type(each) is int for each in data) or not 0 < first < last:
        raise TypeError(data)
    return first, last


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
