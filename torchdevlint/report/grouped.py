"""Findings under the name of their file, aligned."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from torchdevlint.model import Diagnostic
from torchdevlint.report.concise import marker
from torchdevlint.report.summary import summary
from torchdevlint.report.terminal import escape, name, paint

if TYPE_CHECKING:
    from torchdevlint.model import Run
    from torchdevlint.report import Look


def render(run: Run, look: Look) -> str:
    groups = groupby(run.diagnostics, key=lambda diagnostic: diagnostic.filename)
    return "".join(_group(filename, list(found), look) for filename, found in groups) + summary(run, look)


def _group(filename: str, found: list[Diagnostic], look: Look) -> str:
    color = look.color
    places = [_place(diagnostic) for diagnostic in found]
    column = max(map(len, places))
    lines = [paint(name(filename), "strong", color) + ":"]
    for where, diagnostic in zip(places, found, strict=True):
        code = paint(diagnostic.code, diagnostic.severity.value, color)
        lines.append(f"  {where:<{column}}  {code}  {marker(diagnostic, look)}{escape(diagnostic.message)}")
    return "\n".join(lines) + "\n\n"


def _place(diagnostic: Diagnostic) -> str:
    cell = f"cell {diagnostic.cell}:" if diagnostic.cell else ""
    return f"{cell}{diagnostic.span.row}:{diagnostic.span.column}"
