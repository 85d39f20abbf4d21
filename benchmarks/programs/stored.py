"""What was measured, in ``results/``: one line for each program and for each suite, from which the tables are made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

PROGRAMS, SUITES, REAL = "programs.jsonl", "suites.jsonl", "real.jsonl"


@dataclass(frozen=True)
class Seconds:
    """On a plain CPU and simulated."""

    plain: float
    simulated: float


@dataclass(frozen=True)
class StoredProgram:
    name: str
    library: str
    version: str
    torch: str
    outcome: str
    alarms: int
    seconds: Seconds | None = None
    """Of the clock, measured while nothing else ran."""


@dataclass(frozen=True)
class StoredSuite:
    """`run`, `gained` and `both` are numbers of tests (`compared.Compared`); `alarmed` maps tests to their error.

    What ran in parts, of which `paths` tells, is a row of its own beside the sample of the same suite.
    """

    library: str
    version: str
    torch: str
    run: int
    gained: int
    both: int
    alarmed: Mapping[str, str]
    share: float = 1.0
    cpu: Seconds | None = None
    paths: tuple[str, ...] = ()

    @property
    def row(self) -> tuple[str, bool]:
        return self.library, bool(self.paths)


@dataclass(frozen=True)
class StoredReal:
    """A suite on a real GPU beside its simulation, which was alarmed by `alarmed` tests.

    Of those `failed` fail on the GPU too, and `passed` do not; the rest did not run there. `only` are the errors of
    devices in other tests, and `others` counts what fails for other reasons, such as a network that is not there.
    """

    library: str
    version: str
    torch: str
    gpu: str
    run: int
    alarmed: int
    failed: int
    passed: Mapping[str, str]
    only: Mapping[str, str]
    others: int


Row = TypeVar("Row", StoredProgram, StoredSuite, StoredReal)


def load_programs(folder: Path) -> list[StoredProgram]:
    return _load(folder / PROGRAMS, StoredProgram)


def load_suites(folder: Path) -> list[StoredSuite]:
    return _load(folder / SUITES, StoredSuite)


def load_real(folder: Path) -> list[StoredReal]:
    return _load(folder / REAL, StoredReal)


def merge(path: Path, rows: Sequence[Row], key: str, kept: Sequence[Row]) -> None:
    """Write `rows` in place of those of the same `key` among `kept`."""
    by_key = {getattr(row, key): row for row in (*kept, *rows)}
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(asdict(by_key[name]), ensure_ascii=False) for name in sorted(by_key)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _load(path: Path, kind: type[Row]) -> list[Row]:
    if not path.is_file():
        return []
    return [_row(json.loads(line), kind) for line in path.read_text(encoding="utf-8").splitlines()]


def _row(told: dict[str, Any], kind: type[Row]) -> Row:
    timed = {name: Seconds(**told[name]) for name in ("seconds", "cpu") if told.get(name)}
    paths = {"paths": tuple(told["paths"])} if "paths" in told else {}
    return kind(**{**told, **timed, **paths})
