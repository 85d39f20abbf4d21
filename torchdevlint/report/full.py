"""The default format: message, code frame with every place that matters, run-time symptom, help."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from torchdevlint.model import Diagnostic, Related
from torchdevlint.report.concise import marker
from torchdevlint.report.frame import Mark, frame
from torchdevlint.report.summary import summary
from torchdevlint.report.terminal import escape, paint, wrap

if TYPE_CHECKING:
    from torchdevlint.model import Run
    from torchdevlint.report import Look


def render(run: Run, look: Look) -> str:
    return "".join(_finding(diagnostic, look) for diagnostic in run.diagnostics) + summary(run, look)


def _finding(diagnostic: Diagnostic, look: Look) -> str:
    color = look.color
    numbers = [diagnostic.span.end_row + 2, *(related.span.row for related in diagnostic.related)]
    gutter = max(2, len(str(max(numbers))))
    margin = " " * gutter
    out = list(_heading(diagnostic, look))
    out.append(margin + paint("--> ", "line", color) + _place(diagnostic))
    here = (diagnostic.filename, diagnostic.cell)
    near = [related for related in diagnostic.related if (related.filename, related.cell) == here]
    lines = look.lines(*here)
    shown = frame(lines, _marks(diagnostic, near), look.width, color, gutter)
    out += shown or [f"{margin}{paint('::: ', 'line', color)}{_labelled(related)}" for related in near]
    far = [related for related in diagnostic.related if (related.filename, related.cell) != here]
    for place, group in groupby(far, key=lambda related: (related.filename, related.cell)):
        there = list(group)
        marks = [Mark(related.span, escape(related.message), "line") for related in there]
        out += [margin + paint(" |", "line", color), margin + paint("::: ", "line", color) + _place(there[0])]
        shown = frame(look.lines(*place), marks, look.width, color, gutter)
        out += shown or [f"{margin}     {mark.label}" for mark in marks]
    if diagnostic.symptom or diagnostic.help:
        out.append(margin + paint(" |", "line", color))
    for title, text in (("at run time", diagnostic.symptom), ("help", diagnostic.help)):
        if text:
            first = f"{margin} = {title}: "
            painted = f"{margin} {paint('=', 'line', color)} {paint(title, 'strong', color)}: "
            wrapped = list(wrap(_escape_lines(text), first, " " * len(first), look.width))
            out += [painted + wrapped[0][len(first) :], *wrapped[1:]]
    return "\n".join(out) + "\n\n"


def _heading(diagnostic: Diagnostic, look: Look) -> list[str]:
    severity = diagnostic.severity.value
    first = f"{severity}[{diagnostic.code}] {diagnostic.name}: "
    lines = list(wrap(marker(diagnostic, look) + escape(diagnostic.message), first, "  ", look.width))
    opening, *others = (paint(text, "strong", look.color) for text in (lines[0][len(first) :], *lines[1:]))
    code = paint(f"{severity}[{diagnostic.code}]", severity, look.color)
    return [f"{code} {diagnostic.name}: {opening}", *others]


def _marks(diagnostic: Diagnostic, near: list[Related]) -> list[Mark]:
    """The primary mark and the related ones; a related one at the very same place becomes its label."""
    own = [escape(related.message) for related in near if related.span == diagnostic.span]
    marks = [Mark(diagnostic.span, "; ".join(own), diagnostic.severity.value, primary=True)]
    marks += [Mark(r.span, escape(r.message), "line") for r in near if r.span != diagnostic.span]
    return marks


def _place(item: Diagnostic | Related) -> str:
    cell = f":cell {item.cell}" if item.cell else ""
    return f"{escape(item.filename)}{cell}:{item.span.row}:{item.span.column}"


def _labelled(related: Related) -> str:
    return f"{_place(related)} {escape(related.message)}"


def _escape_lines(text: str) -> str:
    """Escaped text that keeps its line ends, none of which starts what GitHub's runner would take for a command."""
    return re.sub(r"^([^\S\n]*):(?=:)", r"\1\\x3a", "\n".join(map(escape, text.split("\n"))), flags=re.MULTILINE)
