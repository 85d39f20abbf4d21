"""``path:row:col: CODE [*] message``, one line a finding; ``[*]`` marks a fix that can be applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchdevlint.model import Diagnostic
from torchdevlint.report.summary import summary
from torchdevlint.report.terminal import escape, name, paint

if TYPE_CHECKING:
    from torchdevlint.model import Run
    from torchdevlint.report import Look


def render(run: Run, look: Look) -> str:
    return "".join(_line(diagnostic, look) for diagnostic in run.diagnostics) + summary(run, look)


def _line(diagnostic: Diagnostic, look: Look) -> str:
    color = look.color
    code = paint(diagnostic.code, diagnostic.severity.value, color)
    path = paint(name(diagnostic.filename), "strong", color)
    return f"{path}{place(diagnostic)} {code} {marker(diagnostic, look)}{escape(diagnostic.message)}\n"


def place(diagnostic: Diagnostic) -> str:
    """``:row:col:``, with the cell of a notebook before it."""
    cell = f":cell {diagnostic.cell}" if diagnostic.cell else ""
    return f"{cell}:{diagnostic.span.row}:{diagnostic.span.column}:"


def marker(diagnostic: Diagnostic, look: Look) -> str:
    """``[*] `` if ``--fix`` would fix it."""
    return "[*] " if look.is_fixable(diagnostic) else ""
