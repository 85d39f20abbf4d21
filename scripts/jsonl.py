"""Files of one JSON object a line, as the stored data of the scripts are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from corpus import CorpusError


def read(path: Path) -> list[dict[str, Any]]:
    """The objects of `path`; none if there is no such file."""
    if not path.exists():
        return []
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except ValueError as error:
        raise CorpusError(f"{path}: {error}") from error


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
