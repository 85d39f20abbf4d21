"""A list of objects with ruff's field names; every key is always there. Pure ASCII, whatever is in the source.

The bytes of a file name that are no text come out as ``\\udcNN`` in it, since strict readers refuse a whole report for
one code point that stands for nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from torchdevlint.model import Diagnostic, Edit, Fix, Related, Span
from torchdevlint.report.places import whole

if TYPE_CHECKING:
    from torchdevlint.model import Run
    from torchdevlint.report import Look


def render(run: Run, _look: Look) -> str:
    return json.dumps([to_dict(diagnostic) for diagnostic in run.diagnostics], indent=2) + "\n"


def to_dict(diagnostic: Diagnostic) -> dict[str, Any]:
    """One finding as every JSON format has it."""
    found = {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "message": diagnostic.message,
        "severity": diagnostic.severity.value,
        "filename": diagnostic.filename,
        "cell": diagnostic.cell,
        **_places(diagnostic.span),
        "noqa_row": diagnostic.noqa_row,
        "url": diagnostic.url,
        "symptom": diagnostic.symptom,
        "related": [
            {"message": related.message, "filename": related.filename, **_cell(related), **_places(related.span)}
            for related in diagnostic.related
        ],
        "fix": None if diagnostic.fix is None else _fix(diagnostic.fix),
    }
    return {key: _as_text(value) for key, value in found.items()}


def _as_text(value: Any) -> Any:
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, dict):
        return {key: _as_text(item) for key, item in value.items()}
    return [_as_text(item) for item in value] if isinstance(value, list) else value


def _fix(fix: Fix) -> dict[str, Any]:
    edits = sorted(fix.edits, key=lambda edit: (edit.cell or 0, edit.span))
    return {
        "applicability": fix.applicability.value,
        "message": fix.message,
        "edits": [{"content": edit.content, **_cell(edit), **_places(edit.span)} for edit in edits],
    }


def _cell(place: Related | Edit) -> dict[str, int]:
    """The cell of a place in a notebook; places elsewhere have no such key."""
    return {} if place.cell is None else {"cell": place.cell}


def _places(span: Span) -> dict[str, dict[str, int]]:
    return {
        "location": {"row": span.row, "column": span.column},
        "end_location": {"row": span.end_row, "column": span.end_column},
    }
