"""The table on disk: a Parquet file for each input, which is there whole or not at all.

The files are the only record of what was done. They are called after the digest of their input and lie in a folder that
is called after the release of torchdevlint and the settings, so what is there need not be done again. A name that
begins with ``_`` is none of the table: Parquet readers pass it over.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections import Counter
from contextlib import suppress
from importlib.metadata import entry_points
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from msgspec.structs import replace

from torchdevlint import __version__
from torchdevlint.config import Settings, options
from torchdevlint.files import content
from torchdevlint.integrations.dask.inputs import BadInputError, digest_of
from torchdevlint.integrations.dask.rows import COLUMNS, KILLS, Row, bad, rows_of_known

SCHEMA = pa.schema(
    [pa.field(name, pa.type_for_alias(kind), metadata={"meaning": text}) for name, (kind, text) in COLUMNS.items()]
)
UNREADABLE = "unreadable-"
"""Parts of inputs without a digest, which are called after the path instead and made anew each time."""
FRESH = ".fresh"
"""Marks, in the folder of a run, the parts that were made in it."""
_BEGUN = "null"
"""A line of a journal: an attempt began. All others are names of files."""


class Done(Struct, frozen=True):
    """What the part of one input says; `fresh` if it was made now. `errors` are those of the input and its files."""

    part: str
    fresh: bool
    findings: int
    files: int
    lines: int
    seconds: float
    errors: tuple[str, ...]


def run_name(settings: Settings) -> str:
    """The folder of what torchdevlint of this release finds with these settings, and with the rule packages installed.

    Settings that only say how findings are shown count as well: nothing has to know which they are.
    """
    said = {option.key: repr(getattr(settings, option.key.replace("-", "_"))) for option in options()}
    for point in entry_points(group="torchdevlint.rules"):
        said[f"rules of {point.value}"] = point.dist.version if point.dist else ""
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    return f"{__version__}-{digest[:12]}"


def make(path: str, folder: str, work: str, settings: Settings) -> Done:
    """Make sure that the part of one input is in `folder`, which all workers see; `work` holds what is unfinished.

    A worker that dies takes along what it has said of other inputs, for which this is called again: their parts are
    known then, and fresh still, which a mark in `work` says. Raises OSError if the part cannot be written.
    """
    unreadable = Path(folder, f"{UNREADABLE}{_short(path)}.parquet")
    try:
        digest = digest_of(path)
    except BadInputError as error:
        return _write([bad(path, None, str(error))], unreadable, work)
    part = Path(folder, f"{digest}.parquet")
    known = read(part)
    if known is None:
        journal = Journal(work, path)
        deaths = journal.begin()
        rows = rows_of_known(path, digest, settings, lambda name: deaths[name] >= KILLS, journal.at)
        known = _write(rows, part, work)
    elif _mark(part, work).exists():
        known = replace(known, fresh=True)
    with suppress(FileNotFoundError):
        unreadable.unlink()
    return known


def give_up(path: str, folder: str, work: str) -> Done:
    """The part of an input that no process survives, with the name of the file that the last one was at."""
    at = Journal(work, path).last()
    error = "the process that linted it died" + (f" at {at}" if at else "")
    try:
        digest = digest_of(path)
    except BadInputError:
        return _write([bad(path, None, error)], Path(folder, f"{UNREADABLE}{_short(path)}.parquet"), work)
    return _write([bad(path, digest, error)], Path(folder, f"{digest}.parquet"), work)


def read(part: Path) -> Done | None:
    """What a part says; None if it is not there, or is not whole."""
    wanted = ["kind", "filename", "error", "files", "lines", "seconds"]
    try:
        rows = pq.ParquetFile(part).read(columns=wanted).to_pylist()
    except (OSError, pa.ArrowException):
        return None
    return _done(part, rows, fresh=False) if rows and rows[0]["kind"] == "input" else None


def _write(rows: list[Row], part: Path, work: str) -> Done:
    beside = Path(work, f"{uuid.uuid4().hex}.parquet")
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), beside, compression="zstd")
    with beside.open("rb") as file:
        os.fsync(file.fileno())
    _mark(part, work).touch()
    beside.replace(part)
    return _done(part, rows, fresh=True)


def _mark(part: Path, work: str) -> Path:
    return Path(work, f"{part.name}{FRESH}")


def _done(part: Path, rows: list[Row], fresh: bool) -> Done:
    about = rows[0]
    errors = (f"{each['filename']}: {each['error']}" if each["filename"] else each["error"] for each in rows)
    return Done(
        part=part.name,
        fresh=fresh,
        findings=sum(each["kind"] == "finding" for each in rows),
        files=about["files"],
        lines=about["lines"],
        seconds=about["seconds"],
        errors=tuple(said for said, each in zip(errors, rows, strict=True) if each["error"]),
    )


class Journal:
    """Which file of an input is being linted, on disk, so that the next process knows where the last one died."""

    def __init__(self, work: str, path: str) -> None:
        self._file = Path(work, f"{_short(path)}.jsonl")

    def begin(self) -> Counter[str]:
        """Begin an attempt, and give how many of those before died at which file."""
        lines = self._lines()
        deaths = Counter(json.loads(line) for line, after in pairwise([*lines, _BEGUN]) if after == _BEGUN != line)
        self._append(_BEGUN)
        return deaths

    def at(self, name: str) -> None:
        self._append(json.dumps(name))

    def last(self) -> str:
        """The file at which the last attempt was, if it came to one."""
        names = [json.loads(line) for line in self._lines() if line != _BEGUN]
        return names[-1] if names else ""

    def _lines(self) -> list[str]:
        try:
            return content(self._file).decode().splitlines()
        except FileNotFoundError:
            return []

    def _append(self, line: str) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def _short(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
