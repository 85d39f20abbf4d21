"""What `check` does with a baseline: it hides what is known, or writes down what there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from torchdevlint import select
from torchdevlint.baseline import Baseline, Entry, Match, match, read, relative, renewed, write
from torchdevlint.config import Settings
from torchdevlint.engine import Run
from torchdevlint.files import exists
from torchdevlint.report.summary import count
from torchdevlint.source.text import Lines

BROKEN = "TDL901"
"""A finding that no other rule has looked at the file."""


def opened(settings: Settings, to_write: Path | None) -> Baseline | None:
    """The baseline that is to be written or to be applied; None if there is none. Raises ConfigError."""
    if to_write is not None:
        return read(to_write, missing_ok=True)
    if settings.baseline is None:
        return None
    file = settings.root / settings.baseline
    return read(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)


def hide(run: Run, baseline: Baseline, settings: Settings, lines: Lines, verbose: bool) -> tuple[Run, list[str]]:
    """The run without the findings of the baseline, and remarks for the user."""
    found = match(run.diagnostics, baseline, lines)
    results = tuple(
        replace(result, diagnostics=tuple(one for one in result.diagnostics if one not in found.hidden))
        for result in run.results
    )
    stale = sorted(_stale(run, found, baseline, settings), key=lambda entry: entry.sort_key)
    notes = []
    if stale:
        entries = count(len(stale), "entry", "entries")
        verb = "matches" if len(stale) == 1 else "match"
        notes.append(f"{entries} of {baseline.file} {verb} nothing any more; --write-baseline removes what is stale")
    if verbose:
        notes += [f"nothing matches {entry.path}: {entry.code} {entry.text}" for entry in stale]
        notes.append(f"{count(len(found.hidden), 'finding', 'findings')} of {baseline.file} not shown")
    return Run(results, run.problems), notes


def renew(run: Run, baseline: Baseline, settings: Settings, lines: Lines) -> list[str]:
    """Write the findings of the run to the baseline, and say so. Raises ConfigError."""
    found = match(run.diagnostics, baseline, lines)
    stale = list(_stale(run, found, baseline, settings))
    write(renewed(baseline, found, stale))
    new = len(found.fresh) - len(found.hidden)
    total = count(len(found.fresh), "finding", "findings")
    return [f"{total} written to {baseline.file}: {new:,} new, {len(stale):,} stale removed"]


def _stale(run: Run, found: Match, baseline: Baseline, settings: Settings) -> Iterator[Entry]:
    """The entries that would have matched if there were still something to match.

    Those are the entries of files that are gone, and of files that were checked, whole, with the rule selected.
    """
    folder = baseline.file.parent
    failed = {problem.filename for problem in run.problems}
    failed |= {one.filename for one in run.diagnostics if one.code == BROKEN}
    checked = {relative(one.filename, folder): one.filename for one in run.results if one.filename not in failed}
    for entry in found.unmatched:
        filename = checked.get(entry.path)
        if filename is not None:
            if entry.code in select.selected_for(settings, filename):
                yield entry
        elif not exists(folder / entry.path):
            yield entry
