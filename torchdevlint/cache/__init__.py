"""Results that are kept between runs, so that only what changed is analysed again.

A result is kept with everything that it depends on: the content of the file, the version of the linter and of Python,
the settings that the inference reads, where the imports that it followed led, and what binds the names that it used of
other files. It holds as long as all of these are as they were; which rules are selected is not among them, as long as
those were run. A file whose times and size are as they were is not read again, unless it had only just been written
then. Only plain data is kept, in an SQLite database. Whatever is wrong with it, the run goes on without.

Files of one project ask for the same imports and the same files. Each of these is kept once, under a number made of
what it says, and looked into once in a run.
"""

from __future__ import annotations

import json
import os
import sys
import time
from array import array
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from msgspec import MsgspecError, Struct, convert, to_builtins
from msgspec.structs import replace

from torchdevlint import __version__
from torchdevlint.cache.database import FOLDER, Database, Row, clean
from torchdevlint.config import Settings
from torchdevlint.files import blake2b, code_in, content
from torchdevlint.model import Report
from torchdevlint.project.locate import locate, submodule
from torchdevlint.project.modules import Library, digest_of
from torchdevlint.project.tree import importers, saying, stamp, stamp_of_importers
from torchdevlint.project.uses import BELOW, Uses
from torchdevlint.rule_packages import stamp as stamp_of_others

__all__ = ["FOLDER", "Cache", "Entry", "Kept", "clean", "folder_of"]

_LAYOUT = "7"
"""Changes with the form of what is kept."""
_SETTLED = 2_000_000_000
"""Nanoseconds after which a file that is written once more has another time, on every file system."""


class Kept(Struct, frozen=True):
    """What the analysis of a file gave, whose bytes have this digest.

    `pragmas` says whether it has suppressions that may be unused; `joined` are the first and last rows of lines that
    go over several and have reports.
    """

    digest: str
    pragmas: bool
    reports: tuple[tuple[str, Report], ...]
    joined: tuple[tuple[int, int], ...]


class Entry(Struct, frozen=True):
    """What is worth keeping of an analysis: what the rules `codes` said, and what that depends on."""

    kept: Kept
    codes: frozenset[str]
    uses: Uses


def folder_of(settings: Settings) -> Path:
    """Where the settings of a run say that results are kept."""
    return settings.root / os.path.expanduser(settings.cache_dir or FOLDER)  # noqa: PTH111 (it raises nothing)


class Cache:
    """The kept results of one folder; use it as a context, at whose end new ones are written."""

    def __init__(self, folder: Path) -> None:
        self._database = Database(folder)
        self._contexts: dict[Settings, str] = {}
        self._new: dict[str, tuple[Entry, Settings]] = {}
        self._library = Library()
        self._digests: dict[str, str] = {}
        self._now = time.time_ns()
        self._stamps: dict[str, str] = {}
        """The times and sizes of files that were read, if they stand for what was read."""
        self._leading: set[int] = set()
        """The imports that lead where they led."""
        self._same: set[int] = set()
        """The files that are as they were used."""

    def __enter__(self) -> Cache:
        return self

    def save(self) -> None:
        """Write what is new; what cannot be written is not kept."""
        import sqlite3

        with suppress(OSError, sqlite3.Error, ValueError):
            self._write()
        self._new.clear()
        self._stamps.clear()

    def __exit__(self, *_: object) -> None:
        self.save()
        self._database.close()

    def get(self, path: str, codes: frozenset[str], settings: Settings) -> Kept | None:
        """What is known of the rules `codes` on the file at the absolute `path`, if it is known to hold."""
        try:
            context, *row = self._results[os.fsencode(path)]
            if context != self._context(settings) or row[0] != self._digest(path) or not codes <= _as_codes(row[1]):
                return None
            _, _, pragmas, reports, joined, imports, used, names, importing, asked = row
            if not (self._lead_as_before(array("q", imports)) and self._are_as_used(array("q", used), names)):
                return None
            if importing != "[]" and not all(map(self._is_imported_as_before, json.loads(importing))):
                return None
            if asked != "[]" and not all(self._is_said_as_before(path, each) for each in json.loads(asked)):
                return None
            if reports == "[]":
                return Kept(row[0], bool(pragmas), (), ())
            said = {
                "digest": row[0],
                "pragmas": bool(pragmas),
                "reports": json.loads(reports),
                "joined": json.loads(joined),
            }
            kept = convert(said, Kept)
            return replace(kept, reports=tuple(each for each in kept.reports if each[0] in codes))
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MsgspecError):
            return None

    def put(self, path: str, entry: Entry, settings: Settings) -> None:
        """Keep what the analysis of a file under these settings gave, when this is saved."""
        self._new[path] = entry, settings

    @cached_property
    def _results(self) -> dict[bytes, Row]:
        """What is kept of each file by its path, in the order of these columns.

        Those in another context are of settings, or of a linter, that were others then.
        """
        rows = self._database.rows(
            "SELECT path, context, digest, codes, pragmas, reports, joined, imports, used, names, importers, saying"
            " FROM results"
        )
        return {row[0]: row[1:] for row in rows}

    @cached_property
    def _imports(self) -> dict[int, Row]:
        """Where an import was looked from, its name, its dots, and the file that it led to, by number."""
        return {row[0]: row[1:] for row in self._database.rows("SELECT id, beside, name, level, found FROM imports")}

    @cached_property
    def _used(self) -> dict[int, Row]:
        """Files and the digests that they had when they were used, by number."""
        return {row[0]: row[1:] for row in self._database.rows("SELECT id, path, digest FROM used")}

    @cached_property
    def _files(self) -> dict[bytes, Row]:
        """The times and sizes of files, and the digests that they had then, by path."""
        return {row[0]: row[1:] for row in self._database.rows("SELECT path, stamp, digest FROM files")}

    def _context(self, settings: Settings) -> str:
        """What every result under these settings depends on."""
        found = self._contexts.get(settings)
        if found is None:
            found = self._contexts[settings] = _context(settings)
        return found

    def _write(self) -> None:
        imports: dict[int, Row] = {}
        used: dict[int, Row] = {}
        results: list[Row] = []
        for path, (entry, settings) in self._new.items():
            kept, uses = entry.kept, entry.uses
            led = (
                (os.fsencode(beside), name, level, found and os.fsencode(found))
                for beside, name, level, found in uses.imports
            )
            results.append(
                (
                    os.fsencode(path),
                    self._context(settings),
                    kept.digest,
                    " ".join(sorted(entry.codes)),
                    kept.pragmas,
                    json.dumps(to_builtins(kept.reports)),
                    json.dumps(kept.joined),
                    _numbered(led, imports),
                    _numbered(((os.fsencode(file), digest) for file, digest, _ in uses.files), used),
                    json.dumps([names for _, _, names in uses.files]),
                    json.dumps(uses.importers),
                    json.dumps(uses.saying),
                )
            )
        stamps = [(os.fsencode(path), stamp, self._digests[path]) for path, stamp in self._stamps.items()]
        if results or stamps:
            self._database.write(
                {"imports": imports.values(), "used": used.values(), "results": results, "files": stamps}
            )

    def _lead_as_before(self, imports: array[int]) -> bool:
        for number in frozenset(imports) - self._leading:
            folder, name, level, path = self._imports[number]
            beside = os.fsdecode(folder)
            found = submodule(beside, name) if level == BELOW else locate(beside, name, level)
            if found != (path and os.fsdecode(path)):
                return False
            self._leading.add(number)
        return True

    def _is_imported_as_before(self, asked: list[Any]) -> bool:
        """Whether the same files import a module; if no file of its project has changed, they do."""
        home, then, found = asked
        return stamp_of_importers(home) == then or importers(home) == (None if found is None else tuple(found))

    def _is_said_as_before(self, path: str, asked: list[Any]) -> bool:
        """Whether the same files of the project of `path` say some words."""
        words, beside_code, then, found = asked
        if stamp(path, beside_code) == then:
            return True
        return saying(path, tuple(words), beside_code) == (None if found is None else tuple(found))

    def _are_as_used(self, files: array[int], names: str) -> bool:
        """Whether each file is as it was, or what was used of it is."""
        changed = frozenset(each for each in frozenset(files) - self._same if not self._is_same(each))
        return not changed or all(
            self._binds(number, digests)
            for number, digests in zip(files, json.loads(names), strict=True)
            if number in changed
        )

    def _is_same(self, number: int) -> bool:
        path, digest = self._used[number]
        if self._digest(os.fsdecode(path)) != digest:
            return False
        self._same.add(number)
        return True

    def _binds(self, number: int, names: dict[str, str]) -> bool:
        """Whether a file that could be read (its digest is not empty) still binds names as it did."""
        path, digest = self._used[number]
        module = self._library.get(os.fsdecode(path)) if digest else None
        return module is not None and all(module.digest(name) == each for name, each in names.items())

    def _digest(self, path: str) -> str:
        """Of the bytes of a file, which is read once in a run at most; empty if it cannot be read."""
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


def _numbered(rows: Iterable[Row], known: dict[int, Row]) -> bytes:
    """The numbers of rows, which are made of what they say; the rows, with them, go to those that are `known`."""
    numbers = array("q")
    for row in rows:
        digest = blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        numbers.append(int.from_bytes(digest, "little", signed=True))
        known[numbers[-1]] = (numbers[-1], *row)
    return numbers.tobytes()


@lru_cache(maxsize=64)
def _as_codes(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _context(settings: Settings) -> str:
    inference = (
        settings.target_torch,
        settings.module_bases,
        settings.in_place_movers,
        settings.batch_movers,
        settings.device_managed_bases,
    )
    text = repr((_LAYOUT, __version__, _own_code(), stamp_of_others(), sys.version_info[:2], inference))
    return blake2b(text.encode(), digest_size=12).hexdigest()


@lru_cache(maxsize=1)
def _own_code() -> object:
    """The files of the linter itself as they are, since it can change without its version while it is being written.

    To look at all 350 of them takes 0.7 ms in a start of 300, so an installed linter is looked at as well. So are the
    rules of other people.
    """
    return code_in(Path(__file__).parent.parent)
