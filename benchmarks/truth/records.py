"""What real GPUs did: one JSON file for each GPU and torch release, made by ``record``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.truth.case import Case

FOLDER = Path(__file__).parent / "recorded"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Stamp:
    """Where and when a file was recorded. `devices` is how many GPUs the machine had."""

    torch: str
    cuda: str
    gpu: str
    devices: int
    date: str
    python: str
    platform: str


@dataclass(frozen=True, slots=True)
class Record:
    """What one case did on the machine of `stamp`."""

    stamp: Stamp
    observed: Mapping[str, Any]


def write(folder: Path, stamp: Stamp, cases: Iterable[Case], observed: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write a file for `stamp`, beside each observation the digest of the program that it is of. Gives its path.

    What the file already has of other cases stays in it.
    """
    path = folder / f"{_slug(stamp.gpu)}-torch-{_slug(stamp.torch.partition('+')[0])}.json"
    digests = {case.id: case.digest for case in cases}
    kept = read(path)[1] if path.is_file() else {}
    rows = kept | {name: {"program": digests[name], **seen} for name, seen in observed.items()}
    data = {"format": FORMAT, **{name: getattr(stamp, name) for name in Stamp.__slots__}}
    data["cases"] = dict(sorted(rows.items()))
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def read(path: Path) -> tuple[Stamp, dict[str, dict[str, Any]]]:
    """The stamp and the rows of one file. Raises ValueError if it is no such file."""
    data = json.loads(path.read_text("utf-8"))
    if data.get("format") != FORMAT:
        raise ValueError(f"{path.name} is not a record of format {FORMAT}")
    return Stamp(**{name: data[name] for name in Stamp.__slots__}), data["cases"]


def by_case(cases: Iterable[Case], folder: Path = FOLDER) -> dict[str, Record]:
    """For each case the record made with the latest torch; none for a program that has changed since."""
    files = sorted((read(path) for path in sorted(folder.glob("*.json"))), key=lambda file: _version(file[0].torch))
    wanted = {case.id: case.digest for case in cases}
    found: dict[str, Record] = {}
    for stamp, rows in files:
        for name, row in rows.items():
            if wanted.get(name) == row["program"]:
                found[name] = Record(stamp, row)
    return found


def stamps(folder: Path = FOLDER) -> list[Stamp]:
    return [read(path)[0] for path in sorted(folder.glob("*.json"))]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.partition("+")[0]))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")
