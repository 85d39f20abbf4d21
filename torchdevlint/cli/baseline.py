"""What `check` does with a baseline: it hides what is known, or writes down what there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from torchdevlint import select
from torchdevlint.baseline import Baseline, Entry, Match, match, read, relative, renewed, write
from torchdevlint.config import Configuration, SettingsOf
from torchdevlint.files import exists
from torchdevlint.model import Run, run_of
from torchdevlint.report.summary import count
from torchdevlint.source.text import Lines

BROKEN = "TDL901"
"""A finding that no other rule has looked at the file."""


class Opened(Struct, frozen=True):
    """A baseline that was read, and the files whose configuration names it."""

    baseline: Baseline
    files: frozenset[str]


def opened(files: Sequence[str], configuration: Configuration) -> list[Opened]:
    """The baselines that hide findings of these files, or would if there were some. Raises ConfigError."""
    named: dict[Path, list[str]] = {}
    for settings, its_files in [(configuration.run, []), *((configuration.of(file), [file]) for file in files)]:
        if settings.baseline is not None:
            named.setdefault(settings.root / settings.baseline, []).extend(its_files)
    return [Opened(read(_from_here(file)), frozenset(its_files)) for file, its_files in sorted(named.items())]


def hide(
    run: Run, baselines: Sequence[Opened], settings: SettingsOf, lines: Lines, verbose: bool
) -> tuple[Run, list[str]]:
    """The run without the findings of the baselines, and remarks for the user."""
    notes = []
    for each in baselines:
        run, said = _without(run, each, settings, lines, verbose)
        notes += said
    return run, notes


def _from_here(file: Path) -> Path:
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file


def _without(run: Run, opened: Opened, settings: SettingsOf, lines: Lines, verbose: bool) -> tuple[Run, list[str]]:
    """The run without the findings of one baseline, and remarks for the user."""
    baseline, own = opened.baseline, run_of([each for each in run.results if each.filename in opened.files])
    found = match(own.diagnostics, baseline, lines)
    results = tuple(
        replace(result, diagnostics=tuple(one for one in result.diagnostics if one not in found.hidden))
        for result in run.results
    )
    stale = sorted(_stale(own, found, baseline, settings), key=lambda entry: entry.sort_key)
    notes = []
    if stale:
        entries = count(len(stale), "entry", "entries")
        verb = "matches" if len(stale) == 1 else "match"
        notes.append(f"{entries} of {baseline.file} {verb} nothing any more; --write-baseline removes what is stale")
    if verbose:
        notes += [f"nothing matches {entry.path}: {entry.code} {entry.text}" for entry in stale]
        notes.append(f"{count(len(found.hidden), 'finding', 'findings')} of {baseline.file} not shown")
    return Run(results, run.problems), notes


def renew(run: Run, baseline: Baseline, settings: SettingsOf, lines: Lines) -> list[str]:
    """Write the findings of the run to the baseline, and say so. Raises ConfigError."""
    found = match([one for one in run.diagnostics if not one.is_answer], baseline, lines)
    stale = list(_stale(run, found, baseline, settings))
    write(renewed(baseline, found, stale))
    new = len(found.fresh) - len(found.hidden)
    total = count(len(found.fresh), "finding", "findings")
    return [f"{total} written to {baseline.file}: {new:,} new, {len(stale):,} stale removed"]


def _stale(run: Run, found: Match, baseline: Baseline, settings: SettingsOf) -> Iterator[Entry]:
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
            if entry.code in select.selected_for(settings.of(filename), filename):
                yield entry
        elif not exists(folder / entry.path):
            yield entry
