"""What the gate hides: the findings of files that it turns away, which must be none."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import corpus

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from torchdevlint import engine
from torchdevlint.config import Settings
from torchdevlint.model import FileResult

SETTINGS = Settings(select=("ALL",), preview=True)


def look(root: Path) -> Counter[str]:
    """The files below `root`, how many are turned away, their lines, and what is found in them, which is printed."""
    counts = Counter[str]()
    for path in corpus.python_files(root):
        data = path.read_bytes()
        counts["files"] += 1
        if passes(data, str(path)):
            continue
        counts["turned away"] += 1
        counts["lines"] += corpus.count_lines(data)
        closed, opened = engine.check_bytes(data, str(path), SETTINGS), with_open_gate(data, str(path))
        for each in (*opened.problems, *opened.diagnostics):
            if each not in (*closed.problems, *closed.diagnostics):
                counts["found"] += 1
                print(each)
    return counts


def passes(data: bytes, filename: str) -> bool:
    """Whether the gate lets a file through, as it stands in its project."""
    with patch.object(engine, "_reports", side_effect=Passed):
        return any(Passed.__name__ in each.message for each in engine.check_bytes(data, filename, SETTINGS).problems)


def with_open_gate(data: bytes, filename: str) -> FileResult:
    with patch.object(engine, "may_hold_findings", return_value=True):
        return engine.check_bytes(data, filename, SETTINGS)


class Passed(Exception):  # noqa: N818 (it is no error)
    """In place of the inference."""
