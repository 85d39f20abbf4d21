"""Many files: each is fixed against the others as they were, and all are written when every one is done."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from torchdevlint.config import Settings, SettingsOf
from torchdevlint.files import content
from torchdevlint.fix.changes import Change, Fixes
from torchdevlint.fix.choice import has_applicable
from torchdevlint.fix.text import Fixed, fix_bytes
from torchdevlint.fix.write import replace_content
from torchdevlint.jobs import automatic_jobs
from torchdevlint.model import FileResult, Problem, Run, run_of


def fixed(run: Run, settings: SettingsOf, jobs: int = 1) -> Fixes:
    """Fix what a run found, and write nothing."""
    able = [each for each in run.results if any(has_applicable(one, settings) for one in each.diagnostics)]
    files = [each.filename for each in able]
    work = [(file, settings.of(file)) for file in files]
    jobs = jobs or automatic_jobs(files)
    if jobs == 1:
        return _fixes(run, dict(zip(files, map(_fix_file, work), strict=True)))
    from torchdevlint import pool

    return _fixes(run, dict(zip(files, pool.each(_fix_file, _lost, work, jobs), strict=True)))


def fixed_input(run: Run, settings: SettingsOf, data: bytes) -> Fixes:
    """Fix what a run found in its one file, whose content is `data`."""
    names = [each.filename for each in run.results]
    return _fixes(run, {name: (data, fix_bytes(data, name, settings.of(name))) for name in names})


def write(fixes: Fixes, before: Run) -> Fixes:
    """Write the changes to what a run found before; a file that cannot be written is reported as it was, with why."""
    failed: dict[str, str] = {}
    for change in fixes.changes:
        try:
            replace_content(change.filename, change.old, change.new)
        except OSError as error:
            failed[change.filename] = f"cannot be fixed: {error.strerror or error}"
    results = {
        each.filename: replace(each, problems=(*each.problems, Problem(each.filename, failed[each.filename])))
        for each in before.results
        if each.filename in failed
    }
    return Fixes(_with(results, fixes.run), tuple(change for change in fixes.changes if change.filename not in failed))


def _fixes(run: Run, done: Mapping[str, tuple[bytes, Fixed]]) -> Fixes:
    changes = (Change(name, old, each.content, each.applied) for name, (old, each) in done.items())
    results = {name: each.result for name, (_, each) in done.items()}
    return Fixes(_with(results, run), tuple(change for change in changes if change.old != change.new))


def _with(results: Mapping[str, FileResult], run: Run) -> Run:
    """The run with other results for some of its files."""
    of_files = {problem for each in run.results for problem in each.problems}
    own = [problem for problem in run.problems if problem not in of_files]
    return run_of([results.get(each.filename, each) for each in run.results], own)


def _fix_file(of: tuple[str, Settings]) -> tuple[bytes, Fixed]:
    filename, settings = of
    try:
        data = content(filename)
    except OSError as error:
        problem = Problem(filename, f"cannot be read: {error.strerror or error}")
        return b"", Fixed(b"", FileResult(filename, problems=(problem,)))
    return data, fix_bytes(data, filename, settings)


def _lost(of: tuple[str, Settings]) -> tuple[bytes, Fixed]:
    filename, _ = of
    return b"", Fixed(b"", FileResult(filename, problems=(Problem(filename, "the process that fixed this file died"),)))
