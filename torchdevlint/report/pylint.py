"""``path:row: [CODE] message``, one line a finding, as pylint writes it and as many tools read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchdevlint.report.places import span_in_file, told
from torchdevlint.report.terminal import escape, name

if TYPE_CHECKING:
    from torchdevlint.model import Diagnostic, Run
    from torchdevlint.report import Look


def render(run: Run, _look: Look) -> str:
    return "".join(_line(diagnostic) for diagnostic in run.diagnostics)


def _line(diagnostic: Diagnostic) -> str:
    row = span_in_file(diagnostic).row
    return f"{name(diagnostic.filename)}:{row}: [{diagnostic.code}] {escape(told(diagnostic))}\n"
