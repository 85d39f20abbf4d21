"""Workflow commands of GitHub Actions: each finding becomes an annotation on its lines.

The runner drops the columns of a span over several lines, so they are given for one line only.
Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchdevlint.model import Diagnostic, Severity
from torchdevlint.report.concise import place
from torchdevlint.report.places import span_in_file
from torchdevlint.report.terminal import escape

if TYPE_CHECKING:
    from torchdevlint.model import Run
    from torchdevlint.report import Look

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "notice"}


def render(run: Run, _look: Look) -> str:
    return "".join(_command(diagnostic) for diagnostic in run.diagnostics)


def _command(diagnostic: Diagnostic) -> str:
    span = span_in_file(diagnostic)
    properties = {
        "title": f"{diagnostic.code} {diagnostic.name}",
        "file": escape(diagnostic.filename),
        "line": str(span.row),
    }
    if span.row == span.end_row:
        properties["col"] = str(span.column)
    properties["endLine"] = str(span.end_row)
    if span.row == span.end_row:
        properties["endColumn"] = str(span.end_column)
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    lines = [f"{diagnostic.filename}{place(diagnostic)} {diagnostic.code} {diagnostic.message}"]
    lines += [f"At run time: {diagnostic.symptom}"] if diagnostic.symptom else []
    lines += [f"Help: {diagnostic.help}"] if diagnostic.help else []
    text = "\n".join(map(escape, lines))
    return f"::{_COMMANDS[diagnostic.severity]} {listed}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
