"""``path:row:col: CODE [*] message``, one line a finding; ``[*]`` marks a fix that can be applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchdevlint.model import Applicability, Diagnostic
from torchdevlint.report.summary import summary
from torchdevlint.report.terminal import escape, name, paint

if TYPE_CHECKING:
    from torchdevlint.engine import Run
    from torchdevlint.report import Look


def render(run: Run, look: Look) -> str:
    return "".join(_line(diagnostic, look.color) for diagnostic in run.diagnostics) + summary(run, look)


def _line(diagnostic: Diagnostic, color: bool) -> str:
    code = paint(diagnostic.code, diagnostic.severity.value, color)
    path = paint(name(diagnostic.filename), "strong", color)
    return f"{path}{place(diagnostic)} {code} {marker(diagnostic)}{escape(diagnostic.message)}\n"


def place(diagnostic: Diagnostic) -> str:
    """``:row:col:``, with the cell of a notebook before it."""
    cell = f":cell {diagnostic.cell}" if diagnostic.cell else ""
    return f"{cell}:{diagnostic.span.row}:{diagnostic.span.column}:"


def marker(diagnostic: Diagnostic) -> str:
    """``[*] `` if there is a fix that is more than a hint."""
    if diagnostic.fix is None or diagnostic.fix.applicability is Applicability.DISPLAY:
        return ""
    return "[*] "
