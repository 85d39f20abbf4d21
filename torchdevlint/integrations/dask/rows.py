"""One input to rows: what was found in it, what kept the tool from its job, and one row about the input itself."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from torchdevlint import __version__
from torchdevlint.api import check_paths
from torchdevlint.config import Settings
from torchdevlint.discover import discover
from torchdevlint.garbage import few_collections
from torchdevlint.integrations.dask.inputs import BadInputError, bring, digest_of
from torchdevlint.model import Diagnostic, FileResult, Problem

Row = dict[str, Any]

COLUMNS: dict[str, tuple[str, str]] = {
    "kind": ("string", "`input`: one row for each input; `finding`; `problem`: what kept the tool from its job"),
    "input": ("string", "the path as it was given"),
    "digest": ("string", "SHA-256 of what the input holds; null where it cannot be read"),
    "version": ("string", "of torchdevlint"),
    "filename": ("string", "the file within the input; null in the row of an input"),
    "cell": ("int32", "the cell of a notebook, from 1"),
    "row": ("int32", "from 1"),
    "column": ("int32", "from 1, in code points"),
    "end_row": ("int32", ""),
    "end_column": ("int32", "exclusive"),
    "code": ("string", "of the rule; in a `problem`, of the rule that raised"),
    "name": ("string", "of the rule"),
    "severity": ("string", "`error`, `warning` or `advice`"),
    "message": ("string", "what was found"),
    "symptom": ("string", "what it does at run time"),
    "help": ("string", "what to do"),
    "fix": ("string", "`safe`, `unsafe` or `display` where there is a fix"),
    "error": ("string", "why this input or file could not be linted; null where it could"),
    "files": ("int64", "in the row of an input: files that were linted"),
    "lines": ("int64", "in the row of an input: lines of these, without those of notebooks"),
    "seconds": ("float64", "in the row of an input: how long unpacking and linting it took"),
}
"""Name, Arrow type and meaning of every column. What does not apply is null."""

KILLS = 2
"""A file at which so many processes have died is left out, and told."""
_ALONE = threading.Lock()
"""Threads of a worker take turns: they would not be faster, and how often garbage is looked for is one for all."""

At = Callable[[str], None]


def rows_of(path: str, settings: Settings) -> list[Row]:
    """Lint one input with these settings. Never raises for what is in it: that is a row with its error."""
    try:
        digest = digest_of(path)
    except BadInputError as error:
        return [bad(path, None, str(error))]
    return rows_of_known(path, digest, settings)


def rows_of_known(
    path: str,
    digest: str,
    settings: Settings,
    deadly: Callable[[str], bool] = lambda _name: False,
    at: At = lambda _name: None,
) -> list[Row]:
    """The rows of an input whose digest is known, which is called `path`.

    A file that is `deadly` is left out, and told; `at` is called with the name of each file before it is linted, and
    with an empty one before the input is unpacked.
    """
    start = time.perf_counter()
    if deadly(""):
        return [bad(path, digest, "the process that unpacked it died")]
    at("")
    with _ALONE, tempfile.TemporaryDirectory(prefix="torchdevlint-", dir=_scratch()) as name:
        folder = Path(os.path.realpath(name))
        try:
            bring(path, folder)
            rows, files, lines = _linted(folder, settings, deadly, at)
        except BadInputError as error:
            return [bad(path, digest, str(error))]
        except Exception as error:  # noqa: BLE001 (one input must not end the run)
            return [bad(path, digest, f"internal error: {type(error).__name__}: {error}")]
    about = {"kind": "input", "files": files, "lines": lines, "seconds": time.perf_counter() - start}
    return [_row({"input": path, "digest": digest, **each}) for each in (about, *rows)]


def bad(path: str, digest: str | None, error: str) -> Row:
    """The row of an input that could not be linted."""
    about = {"files": 0, "lines": 0, "seconds": 0.0}
    return _row({"kind": "input", "input": path, "digest": digest, "error": error, **about})


def _linted(folder: Path, settings: Settings, deadly: Callable[[str], bool], at: At) -> tuple[list[Row], int, int]:
    """Rows, files and lines of what was unpacked into a folder."""
    prefix = f"{folder.as_posix()}/"
    settings = replace(settings, root=folder, config_file=None)
    found = discover([str(folder)], settings)
    names = {file: file.removeprefix(prefix) for file in sorted(found.files)}
    linted = [file for file, name in names.items() if not deadly(name)]
    died = [Problem(file, "the process that linted this file died") for file in names.keys() - linted]
    results: list[FileResult] = []
    with few_collections():
        coming = check_paths(linted, settings)
        for file in linted:
            at(names[file])
            results.append(next(coming))
    problems = {*found.problems, *died, *(each for result in results for each in result.problems)}
    rows = [_of_finding(each) for result in results for each in result.diagnostics]
    rows += [_of_problem(each) for each in sorted(problems, key=lambda one: (one.filename or "", one.message))]
    for row in rows:
        row["filename"] = (row["filename"] or "").removeprefix(prefix) or None
    lines = sum(_lines(file) for file in linted if not file.endswith(".ipynb"))
    return rows, len(linted), lines


def _of_finding(one: Diagnostic) -> Row:
    return {
        "kind": "finding",
        "filename": one.filename,
        "cell": one.cell,
        "row": one.span.row,
        "column": one.span.column,
        "end_row": one.span.end_row,
        "end_column": one.span.end_column,
        "code": one.code,
        "name": one.name,
        "severity": one.severity.value,
        "message": one.message,
        "symptom": one.symptom,
        "help": one.help,
        "fix": one.fix.applicability.value if one.fix else None,
    }


def _of_problem(one: Problem) -> Row:
    return {"kind": "problem", "filename": one.filename, "code": one.rule, "error": one.message}


def _row(given: Row) -> Row:
    """All columns, and text that can be written as UTF-8, whatever a file is called."""
    row = dict.fromkeys(COLUMNS) | {"version": __version__} | given
    return {name: _writable(value) if isinstance(value, str) else value for name, value in row.items()}


def _writable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _lines(file: str) -> int:
    data = Path(file).read_bytes()
    return data.count(b"\n") + (not data.endswith(b"\n") if data else 0)


def _scratch() -> str | None:
    """The folder of a worker, which is removed with what is in it if the worker dies; None for the system's."""
    from distributed import get_worker

    try:
        return str(get_worker().local_directory)
    except ValueError:
        return None
