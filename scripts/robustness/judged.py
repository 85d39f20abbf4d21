"""What the linter makes of one file, and whether that is a fault of the linter.

Every rule is on and the gate stands open, so that every file that can be parsed goes through the whole inference.
"""

from __future__ import annotations

import hashlib
import json
import time
import traceback
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unittest.mock import patch

from fixes import kept
from msgspec.structs import replace

from torchdevlint import engine, report
from torchdevlint.config import Settings
from torchdevlint.model import FileResult, Span, run_of
from torchdevlint.source.gate import may_hold_findings

SETTINGS = Settings(select=("ALL",), preview=True)
CONTENT = "TDL9"
"""Starts the codes of the rules that say what is wrong with a file as a whole, for which no gate is asked."""
_PARSED = {
    "json": json.loads,
    "sarif": json.loads,
    "json-lines": lambda text: [json.loads(line) for line in text.splitlines()],
}
SHOWN = 200
"""So many findings of a file are rendered, since some samples have tens of thousands."""
_LOOKS = ({}, {"color": True, "width": 40}, {"width": 100, "verbose": True})


@dataclass(frozen=True)
class Sample:
    """One input: bytes that are checked as the content of `filename`, and a name that says where they come from."""

    name: str
    data: bytes
    filename: str = "sample.py"


@dataclass(frozen=True)
class Outcome:
    """What came of one sample. `digest` stands for all that was found; `faults` are for whoever mends the linter."""

    name: str
    lines: int = 0
    seconds: float = 0.0
    findings: int = 0
    invalid: bool = False
    refused: bool = False
    digest: str = ""
    faults: tuple[str, ...] = ()

    @property
    def speed(self) -> float:
        """Microseconds a line."""
        return 1e6 * self.seconds / max(self.lines, 1)


def examine(sample: Sample, formats: bool = True) -> Outcome:
    """Check one sample and look for faults in the result, and in the `formats` that show it, which takes longer."""
    with patch.object(engine, "may_hold_findings", return_value=True):
        start = time.process_time()
        try:
            result = engine.check_bytes(sample.data, sample.filename, SETTINGS)
        except Exception as error:  # noqa: BLE001 (which is what is looked for)
            return Outcome(sample.name, faults=(_raised("check_bytes", error),))
        seconds = time.process_time() - start
    refused = [problem for problem in result.problems if problem.message == engine.TOO_DEEP]
    return Outcome(
        sample.name,
        sample.data.count(b"\n") + 1,
        seconds,
        len(result.diagnostics),
        any(each.code == "TDL901" for each in result.diagnostics),
        bool(refused),
        hashlib.sha256(repr(result).encode("utf-8", "backslashreplace")).hexdigest()[:16],
        tuple(_faults(sample, result, formats)),
    )


def _faults(sample: Sample, result: FileResult, formats: bool) -> Iterator[str]:
    yield from (each.message for each in result.problems if each.message != engine.TOO_DEEP)
    found = result.diagnostics
    if list(found) != sorted(found, key=lambda each: each.sort_key):
        yield "the findings are not in order"
    if (
        hidden := [each.code for each in found if each.code[:4] != CONTENT]
        if not may_hold_findings(sample.data)
        else []
    ):
        shown = {each.code for each in engine.check_bytes(sample.data, sample.filename, SETTINGS).diagnostics}
        yield from (f"{code} in a file that the gate turns away" for code in hidden if code not in shown)
    lines = report.lines_of_bytes(sample.data)
    for each in found:
        places = [each.span, *(one.span for one in each.related if one.filename == sample.filename)]
        places += [edit.span for edit in each.fix.edits] if each.fix else []
        yield from (f"{each.code} points outside of the file: {span}" for span in places if not _inside(span, lines))
    yield from kept.faults(sample.data, sample.filename, found)
    if formats and result != FileResult(sample.filename):
        yield from _unprintable(sample, result, lines)


def _inside(span: Span, lines: Sequence[str]) -> bool:
    """Whether a span starts and ends in the file, and not before it starts."""
    start, end = (span.row, span.column), (span.end_row, span.end_column)
    return start <= end and all(
        1 <= row <= len(lines) and 1 <= column <= len(lines[row - 1]) + 1 for row, column in (start, end)
    )


def _unprintable(sample: Sample, result: FileResult, lines: Sequence[str]) -> Iterator[str]:
    """What is wrong with the result as the output formats show it."""
    run = run_of([replace(result, diagnostics=result.diagnostics[:SHOWN])])
    for name in report.FORMATS:
        for look in _LOOKS if name in report.TEXT else _LOOKS[:1]:
            try:
                text = report.render(name, run, report.Look(**look, lines=_lines_of(sample, lines)))
                text.encode("utf-8")
                _PARSED.get(name, str)(text)
            except Exception as error:  # noqa: BLE001 (which is what is looked for)
                yield _raised(f"format {name}", error)
                break
            if not look and name in report.TEXT and (odd := _control_characters(text)):
                yield f"format {name} leaves {odd} as it is"


def _lines_of(sample: Sample, lines: Sequence[str]) -> report.Lines:
    def found(name: str, cell: int | None = None, /) -> Sequence[str]:
        if name != sample.filename:
            return report.lines_of_file(name, cell)
        return lines if cell is None else report.lines_of_cell(sample.data, cell)

    return found


def _control_characters(text: str) -> str:
    """The characters of an uncoloured report that a terminal would obey."""
    found = {each for each in text if not each.isprintable() and each != "\n"}
    return ", ".join(sorted(f"U+{ord(each):04X}" for each in found if unicodedata.category(each) in ("Cc", "Cf")))


def _raised(place: str, error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    path = " > ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames)
    return f"{place} raised {type(error).__name__}: {error} ({path})"
