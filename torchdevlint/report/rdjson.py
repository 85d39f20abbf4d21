"""reviewdog's diagnostics, with what a fix makes of the code as suggestions. Pure ASCII, whatever is in the source.

Columns count the bytes of UTF-8 from 1. Where the lines of a file are not to be had, only rows are given.
Source: https://github.com/reviewdog/reviewdog/blob/master/proto/rdf/reviewdog.proto
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from torchdevlint.model import Diagnostic, Edit, Fix, Severity, Span
from torchdevlint.report.places import below, offered, sentences, whole
from torchdevlint.rules import DOCS_URL

if TYPE_CHECKING:
    from torchdevlint.model import Run
    from torchdevlint.report import Look

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.ADVICE: "INFO"}


def render(run: Run, look: Look) -> str:
    report = {
        "source": {"name": "torchdevlint", "url": DOCS_URL.removesuffix("rules")},
        "diagnostics": [_diagnostic(one, look.lines(one.filename)) for one in run.diagnostics],
    }
    return json.dumps(report, indent=2) + "\n"


def _diagnostic(diagnostic: Diagnostic, lines: Sequence[str]) -> dict[str, Any]:
    location: dict[str, Any] = {"path": whole(below(diagnostic.filename))}
    if diagnostic.cell is None:
        location["range"] = _range(diagnostic.span, lines)
    found: dict[str, Any] = {
        "message": whole("\n".join(sentences(diagnostic))),
        "location": location,
        "severity": _SEVERITIES[diagnostic.severity],
        "code": {"value": diagnostic.code, **({"url": diagnostic.url} if diagnostic.url else {})},
    }
    fix = offered(diagnostic)
    if fix is not None and all(edit.span.end_row <= len(lines) for edit in fix.edits):
        found["suggestions"] = [_suggestion(fix, lines)]
    return found


def _suggestion(fix: Fix, lines: Sequence[str]) -> dict[str, Any]:
    """One for the whole fix, from its first edit to its last, since suggestions are taken one by one."""
    edits = sorted(fix.edits, key=lambda edit: edit.span)
    first, last = edits[0].span, edits[-1].span
    span = Span(first.row, first.column, last.end_row, last.end_column)
    return {"range": _range(span, lines), "text": whole("".join(_pieces(edits, lines)))}


def _pieces(edits: Sequence[Edit], lines: Sequence[str]) -> Iterator[str]:
    """The new text of the edits, and the text between them."""
    done: Span | None = None
    for edit in edits:
        if done is not None:
            yield _between(Span(done.end_row, done.end_column, edit.span.row, edit.span.column), lines)
        yield edit.content
        done = edit.span


def _between(span: Span, lines: Sequence[str]) -> str:
    rows = list(lines[span.row - 1 : span.end_row])
    rows[-1] = rows[-1][: span.end_column - 1]
    rows[0] = rows[0][span.column - 1 :]
    return "\n".join(rows)


def _range(span: Span, lines: Sequence[str]) -> dict[str, Any]:
    if span.end_row > len(lines):
        return {"start": {"line": span.row}, "end": {"line": span.end_row}}
    return {
        "start": _position(span.row, span.column, lines),
        "end": _position(span.end_row, span.end_column, lines),
    }


def _position(row: int, column: int, lines: Sequence[str]) -> dict[str, int]:
    before = lines[row - 1][: column - 1]
    return {"line": row, "column": len(before.encode("utf-8", "surrogatepass")) + 1}
