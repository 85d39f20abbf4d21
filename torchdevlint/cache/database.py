"""The folder and the SQLite database that results are kept in: made, opened, asked and removed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3

FOLDER = ".torchdevlint_cache"
DATABASE, TAG = "results.sqlite", "CACHEDIR.TAG"
_TABLES = {
    "files": "path BLOB PRIMARY KEY, stamp TEXT, digest TEXT",
    "imports": "id INTEGER PRIMARY KEY, beside BLOB, name TEXT, level INTEGER, found BLOB",
    "results": (
        "path BLOB PRIMARY KEY, context TEXT, digest TEXT, codes TEXT, pragmas INTEGER, reports TEXT, joined TEXT,"
        " imports BLOB, used BLOB, names TEXT, importers TEXT, saying TEXT"
    ),
    "used": "id INTEGER PRIMARY KEY, path BLOB, digest TEXT",
}
"""The columns of each table. Paths are bytes, since the names of files need not be text."""
_CREATE = [f"CREATE TABLE {name} ({columns})" for name, columns in _TABLES.items()]
_TAG = """\
Signature: 8a477f597d28d172789f06886806bc55
# This is a cache of torchdevlint. Backups may leave it out: https://bford.info/cachedir/
"""
_SECONDS = 2.0
"""How long another run may keep the database to itself before this one does without."""

Row = tuple[Any, ...]


class Database:
    """The database in a folder, which is made when it is first asked; what cannot be read is as good as not there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def rows(self, question: str) -> list[Row]:
        """What a ``SELECT`` gives."""
        import sqlite3

        try:
            return self._connection.execute(question).fetchall()
        except (OSError, sqlite3.Error):
            return []

    def write(self, tables: dict[str, Iterable[Row]]) -> None:
        """Put rows in the place of those with the same key, all or none. Raises OSError or sqlite3.Error."""
        with self._connection as connection:
            for name, rows in tables.items():
                places = ", ".join("?" for _ in _TABLES[name].split(","))
                connection.executemany(f"INSERT OR REPLACE INTO {name} VALUES ({places})", rows)  # noqa: S608

    def close(self) -> None:
        connection = self.__dict__.pop("_connection", None)
        if connection is not None:
            connection.close()

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        import sqlite3

        self.folder.mkdir(parents=True, exist_ok=True)
        _refuse_others(self.folder)
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


def _refuse_others(folder: Path) -> None:
    """What is linted may bring a folder of this name, and links in it would lead what is kept somewhere else.

    Its configuration may name a folder as well, and what is there of other things is not ours to replace.
    """
    with os.scandir(folder) as entries:
        inside = list(entries)
    if inside and all(entry.name != TAG for entry in inside):
        raise OSError(f"{folder} is no cache of torchdevlint")
    if folder.is_symlink() or any(entry.is_symlink() for entry in inside):
        raise OSError(f"{folder} is, or holds, a link")


def _connected(file: Path) -> sqlite3.Connection:
    """Raises DatabaseError for what is no database, or not one of this layout."""
    import sqlite3

    connection = sqlite3.connect(file, timeout=_SECONDS)
    try:
        connection.execute("PRAGMA synchronous = OFF")  # what a crash of the machine damages is made anew
        for table in _CREATE:
            connection.execute(table.replace("TABLE", "TABLE IF NOT EXISTS", 1))
        _check_layout(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _check_layout(connection: sqlite3.Connection) -> None:
    """Anything else in a database that somebody has brought, such as a view or a trigger, could run for ever."""
    import sqlite3

    found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
    if found != [(table,) for table in _CREATE]:
        raise sqlite3.DatabaseError("another layout")
