"""Output formats, one module each, imported when asked for.

A format module has ``render(run, look) -> str``, the whole report with its final newline (or nothing), and none of
them prints. The formats in `TEXT` are for people: they escape what a terminal must not be given and end in a summary.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from torchdevlint.model import Applicability, Diagnostic
from torchdevlint.report.lines import lines_of_bytes, lines_of_cell, lines_of_file
from torchdevlint.source.text import Lines

if TYPE_CHECKING:
    from torchdevlint.model import Run

__all__ = [
    "FORMATS",
    "TEXT",
    "UNCOUNTED",
    "Lines",
    "Look",
    "lines_of_bytes",
    "lines_of_cell",
    "lines_of_file",
    "render",
    "statistics",
]

FORMATS = (
    "full", "concise", "grouped", "json", "json-lines", "github", "gitlab", "junit", "sarif", "rdjson", "pylint",
    "azure",
)  # fmt: skip
TEXT = frozenset({"full", "concise", "grouped"})
UNCOUNTED = frozenset(FORMATS) - TEXT - {"json", "json-lines"}
"""The formats in which there is no such thing as the number of findings of a rule."""


def has_safe_fix(diagnostic: Diagnostic) -> bool:
    """Whether there is a fix that may be applied without asking."""
    return diagnostic.fix is not None and diagnostic.fix.applicability is Applicability.SAFE


class Look(Struct, frozen=True):
    """Where a report is shown.

    `color` allows ANSI colours; `width` is that of the terminal in cells, None where there is none: nothing is wrapped
    then. `lines` gives the source lines of a file name as it stands in a diagnostic, or of a cell of that file.
    `quiet` drops the summary, `verbose` says in it what was checked. `is_fixable` says of a finding whether ``--fix``
    fixes it; `fixed` counts those that it did fix, and `hidden` those that ``--unsafe-fixes`` would add.
    """

    color: bool = False
    width: int | None = None
    quiet: bool = False
    verbose: bool = False
    lines: Lines = lines_of_file
    is_fixable: Callable[[Diagnostic], bool] = has_safe_fix
    fixed: int = 0
    hidden: int = 0


def render(output_format: str, run: Run, look: Look) -> str:
    """The report of `run` in one of `FORMATS`."""
    module = import_module(f"torchdevlint.report.{output_format.replace('-', '_')}")
    return cast(str, module.render(run, look))


def statistics(output_format: str, run: Run) -> str:
    """How often each rule was hit; formats for people get a table. The formats in `UNCOUNTED` are refused before."""
    from torchdevlint.report import summary

    return summary.statistics(run, output_format)
