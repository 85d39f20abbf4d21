"""Logging commands of Azure Pipelines: each finding is listed with the run, as an error or a warning.

Source: https://learn.microsoft.com/azure/devops/pipelines/scripts/logging-commands#logissue-log-an-error-or-warning
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchdevlint.model import Diagnostic, Severity
from torchdevlint.report.places import sentences, span_in_file
from torchdevlint.report.terminal import escape

if TYPE_CHECKING:
    from torchdevlint.model import Run
    from torchdevlint.report import Look


def render(run: Run, _look: Look) -> str:
    return "".join(_command(diagnostic) for diagnostic in run.diagnostics)


def _command(diagnostic: Diagnostic) -> str:
    span = span_in_file(diagnostic)
    properties = {
        "type": "error" if diagnostic.severity is Severity.ERROR else "warning",
        "sourcepath": escape(diagnostic.filename),
        "linenumber": str(span.row),
        "columnnumber": str(span.column),
        "code": diagnostic.code,
    }
    listed = "".join(f"{key}={_property(value)};" for key, value in properties.items())
    text = "\n".join(map(escape, sentences(diagnostic)))
    return f"##vso[task.logissue {listed}]{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace("]", "%5D").replace(";", "%3B")
