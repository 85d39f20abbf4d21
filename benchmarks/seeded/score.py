"""Whether the linter notices a seeded bug: a finding, or a place that it names, that was not there before.

It has to be near: in the function or method that holds the edit, or within `SLACK` lines of it.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from tempfile import TemporaryDirectory
from typing import Any

from sample import Seeded

from torchdevlint import engine
from torchdevlint.config import Settings
from torchdevlint.model import Diagnostic, FileResult

SLACK = 2


@dataclass(frozen=True)
class Outcome:
    """One seeded bug: `codes` of the new findings near it, and its line before and after."""

    key: str
    kind: str
    label: str
    path: str
    row: int
    before: str
    after: str
    codes: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        return bool(self.codes)

    def as_row(self) -> dict[str, Any]:
        return {
            "key": self.key, "kind": self.kind, "label": self.label, "path": self.path, "row": self.row,
            "before": self.before, "after": self.after, "codes": list(self.codes),
        }  # fmt: skip

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Outcome:
        return cls(**{**row, "codes": tuple(row["codes"])})


def run(seeded: Iterable[Seeded], jobs: int) -> Iterator[Outcome]:
    """Lint each file as it is, and once for each bug that is put into it, in the place of the file in its package.

    The current folder of who lints is empty: beside the scripts of another one, packages would count as an application.
    """
    absolute = (replace(each, root=each.root.resolve()) for each in seeded)
    files = [list(group) for _, group in groupby(sorted(absolute, key=_place), key=_file)]
    with TemporaryDirectory() as empty, ProcessPoolExecutor(jobs, initializer=os.chdir, initargs=(empty,)) as pool:
        for outcomes in pool.map(_of_file, files, chunksize=4):
            yield from outcomes


def _place(each: Seeded) -> tuple[str, str, int]:
    return each.label, each.path, each.seed.start


def _file(each: Seeded) -> tuple[str, str]:
    return each.label, each.path


def _of_file(seeded: list[Seeded]) -> list[Outcome]:
    path = seeded[0].root / seeded[0].path
    data = path.read_bytes()
    outcomes = []
    for each in seeded:
        changed = each.seed.applied(data)
        if not _is_whole(changed):
            continue
        codes = sorted({one.code for one in noticed(data, changed, str(path), each.seed.row)})
        lines = [text.decode(errors="replace").split("\n")[each.seed.row - 1].strip() for text in (data, changed)]
        outcomes.append(
            Outcome(each.key, each.seed.kind, each.label, each.path, each.seed.row, *lines, codes=tuple(codes))
        )
    return outcomes


def noticed(data: bytes, changed: bytes, path: str, row: int) -> list[Diagnostic]:
    """The findings that are new in the changed file, with a place near the row of the edit."""
    before = _identities(data, path)
    first, last = _extent(changed, row)
    new = [one for one in _checked(changed, path).diagnostics if _identity(one) not in before]
    return [one for one in new if any(first <= each <= last for each in _rows(one))]


@lru_cache(maxsize=1)
def _identities(data: bytes, path: str) -> frozenset[tuple[str, int, str]]:
    """The findings of the file as it is, which is asked for once for all of its bugs."""
    return frozenset(map(_identity, _checked(data, path).diagnostics))


def _checked(data: bytes, path: str) -> FileResult:
    return engine.check_bytes(data, filename=path, settings=_settings())


@lru_cache(maxsize=1)
def _settings() -> Settings:
    return Settings(ignore_noqa=True)


def _identity(one: Diagnostic) -> tuple[str, int, str]:
    return one.code, one.span.row, str(one.message)


def _rows(one: Diagnostic) -> Iterator[int]:
    """The rows that a finding names in its own file."""
    yield one.span.row
    for place in one.related:
        if place.filename == one.filename:
            yield place.span.row


def _is_whole(data: bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data)
    except (SyntaxError, ValueError):
        return False
    return True


def _extent(data: bytes, row: int) -> tuple[int, int]:
    """The lines of the function or method around a line, or those next to it."""
    holders: list[ast.stmt] = list(ast.parse(data).body)
    while holders:
        around = [each for each in holders if each.lineno <= row <= (each.end_lineno or each.lineno)]
        for each in around:
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return min(each.lineno, row - SLACK), max(each.end_lineno or 0, row + SLACK)
        holders = [inner for each in around for inner in ast.iter_child_nodes(each) if isinstance(inner, ast.stmt)]
    return row - SLACK, row + SLACK
