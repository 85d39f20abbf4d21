"""GitLab's Code Quality report: what a merge request adds and resolves. Pure ASCII, whatever is in the source.

GitLab tells findings apart by their fingerprints alone, and shows one of several that share one.
Source: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchdevlint.model import FileResult, Severity
from torchdevlint.report.line_hash import line_hashes
from torchdevlint.report.places import below, span_in_file, told, whole

if TYPE_CHECKING:
    from torchdevlint.model import Run
    from torchdevlint.report import Look

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.ADVICE: "info"}


def render(run: Run, look: Look) -> str:
    issues = [issue for file in run.results for issue in _issues(file, look)]
    return json.dumps(issues, indent=2) + "\n"


def _issues(file: FileResult, look: Look) -> Iterator[dict[str, Any]]:
    if not file.diagnostics:
        return
    path = whole(below(file.filename, os.environ.get("CI_PROJECT_DIR")))
    for diagnostic, fingerprint in zip(file.diagnostics, _fingerprints(path, file, look), strict=True):
        span = span_in_file(diagnostic)
        yield {
            "description": f"{diagnostic.code} {whole(told(diagnostic))}",
            "check_name": diagnostic.name,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[diagnostic.severity],
            "location": {"path": path, "lines": {"begin": span.row, "end": span.end_row}},
        }


def _fingerprints(path: str, file: FileResult, look: Look) -> Iterator[str]:
    """One for each finding: its file, rule and line, wherever that has moved, and which of the like ones it is."""
    rows: dict[int | None, set[int]] = {}
    for diagnostic in file.diagnostics:
        rows.setdefault(diagnostic.cell, set()).add(diagnostic.span.row)
    hashes = {cell: line_hashes(look.lines(file.filename, cell), those) for cell, those in rows.items()}
    seen: Counter[tuple[str, str]] = Counter()
    for diagnostic in file.diagnostics:
        line = hashes[diagnostic.cell].get(diagnostic.span.row) or whole(diagnostic.message)
        seen[diagnostic.code, line] += 1
        parts = (path, diagnostic.code, line, str(seen[diagnostic.code, line]))
        yield hashlib.sha256("\0".join(parts).encode()).hexdigest()
