"""What `hunt` does with a baseline: bugs are known by the line that raises, as the findings of `check` are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torchdevlint.baseline import added, match, read, write
from torchdevlint.model import Diagnostic, Severity, Span
from torchdevlint.report import lines_of_file
from torchdevlint.runtime.hunt.findings import Bug
from torchdevlint.runtime.hunt.report import CODE, NAME, message, place_of


def unknown(bugs: Sequence[Bug], file: Path) -> tuple[Bug, ...]:
    """The bugs that are not in a baseline. Raises ConfigError."""
    diagnostics = [_diagnostic(bug) for bug in bugs]
    hidden = match(diagnostics, read(file), lines_of_file).hidden
    return tuple(bug for bug, diagnostic in zip(bugs, diagnostics, strict=True) if diagnostic not in hidden)


def write_down(bugs: Sequence[Bug], file: Path) -> None:
    """Add the bugs to a baseline, which need not be there yet. Raises ConfigError."""
    diagnostics = [_diagnostic(bug) for bug in bugs]
    reasons = {
        diagnostic: f"hunt: {bug.failure.target.name}" for diagnostic, bug in zip(diagnostics, bugs, strict=True)
    }
    write(added(read(file, missing_ok=True), reasons, diagnostics, lines_of_file))


def _diagnostic(bug: Bug) -> Diagnostic:
    place = place_of(bug)
    span = Span(place.line, 1, place.line, 1)
    text = message(bug)
    return Diagnostic(place.filename, span, CODE, NAME, text, Severity.ERROR, bug.failure.text, "", "", place.line)
