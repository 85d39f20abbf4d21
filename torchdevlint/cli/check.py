"""``torchdevlint check``: lint files and folders."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from msgspec.structs import replace

from torchdevlint import report, select
from torchdevlint.baseline import read
from torchdevlint.cache import Cache
from torchdevlint.cli import fixing
from torchdevlint.cli.baseline import Opened, hide, opened, renew
from torchdevlint.cli.conflicts import refuse_what_excludes_each_other
from torchdevlint.cli.console import complain, emit, progress, remark, terminal_width, wants_color
from torchdevlint.cli.noqa import add_comments
from torchdevlint.cli.options import cache_folder, configuration_from
from torchdevlint.cli.refused import Misused, Refused
from torchdevlint.config import ConfigError, Configuration, Settings, options, overlay, written
from torchdevlint.discover import Discovery, discover, excluded, reported
from torchdevlint.engine import check_bytes, check_paths
from torchdevlint.files import is_folder
from torchdevlint.fix.changes import Fixes
from torchdevlint.fix.choice import has_applicable
from torchdevlint.garbage import THRESHOLDS, keep_freed_memory
from torchdevlint.model import Run, run_of
from torchdevlint.report.terminal import escape, name


def checked(paths: Sequence[str], flags: dict[str, Any], arguments: Sequence[str]) -> int:
    """Lint what the `paths` name under the `flags`, as these `arguments` say, and give the exit code."""
    refuse_what_excludes_each_other(paths, flags)
    if flags["watch"]:
        from torchdevlint.cli.watch import watch

        return watch(paths, flags, _configuration, arguments)
    stdin = "-" in paths
    settings = _configuration(paths, flags)
    fixes, notes = Fixes(Run()), list[str]()
    try:
        if flags["show_settings"]:
            emit(_shown(paths, settings))
            return 0
        found = _standard_input(flags["stdin_filename"], settings) if stdin else discover(paths or (".",), settings)
        if flags["show_files"]:
            emit("".join(f"{name(file)}\n" for file in found.files))
            run = Run(problems=found.problems)
        else:
            run, fixes, notes = _lint(found, settings, flags, sys.stdin.buffer.read() if stdin else None)
    except ConfigError as error:
        raise Refused(str(error)) from error
    if flags["written_to"]:
        from torchdevlint.cli.watch import tell

        tell(flags["written_to"], [change.filename for change in fixes.changes])
    _remarks(notes, flags)
    for problem in run.problems:
        complain(problem, wants_color(flags["color"], sys.stderr))
    if run.problems:
        return 2
    failed = bool(run.diagnostics) if flags["diff"] else select.fails(settings.run, run.diagnostics)
    failed = failed or (flags["exit_non_zero_on_fix"] and fixes.applied.total() > 0)
    return 1 if failed and not flags["exit_zero"] else 0


def _configuration(paths: Sequence[str], flags: dict[str, Any]) -> Configuration:
    """The settings that hold for files under these flags. Raises Refused."""
    start = flags["stdin_filename"] or "./"
    configuration = configuration_from(flags, start, [each for each in paths if each != "-"], partial(_laid, flags))
    chosen = configuration.run.output_format
    if chosen not in report.FORMATS:
        raise Refused(f"`output-format` must be one of {', '.join(report.FORMATS)}, not `{chosen}`")
    if flags["statistics"] and chosen in report.UNCOUNTED:
        raise Misused(f"--statistics cannot be written in the {chosen} format")
    return configuration


def _laid(flags: dict[str, Any], settings: Settings) -> Settings:
    """The settings under the flags that other commands do not have."""
    baseline = str(flags["baseline"].absolute()) if flags["baseline"] else None
    of_run = {"fail_on": flags["fail_on"], "output_format": flags["output_format"], "baseline": baseline}
    settings = overlay(fixing.overlaid(settings, flags), **of_run)
    return replace(settings, fix=False, fix_only=False) if flags["add_noqa"] else settings


def _standard_input(name: str | None, settings: Configuration) -> Discovery:
    """The one file that stdin stands for, unless excludes are to be enforced and cover it."""
    filename = reported(name or "-")
    if name and settings.run.force_exclude and excluded(name, settings.of(name)):
        return Discovery()
    return Discovery(files=(filename,))


def _lint(
    found: Discovery, settings: Configuration, flags: dict[str, Any], stdin: bytes | None
) -> tuple[Run, Fixes, list[str]]:
    """Lint what was found, fix it, and write the report or the baseline.

    Gives what to exit for, what was fixed, and remarks.

    `stdin` is the content of the only file, if it is no file. Raises ConfigError for a baseline.
    """
    to_write = read(flags["write_baseline"], missing_ok=True) if flags["write_baseline"] else None
    known: Sequence[Opened] = opened(found.files, settings) if to_write is None else ()
    # The trees of one file are garbage at once: looking for cycles that often costs a sixth of the time. Those that
    # are kept for the files that import them are up to a million objects, which no search should go through.
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    keep_freed_memory()
    lines: report.Lines = report.lines_of_file
    if stdin is not None:
        run = run_of([check_bytes(stdin, filename, settings.of(filename)) for filename in found.files])
        lines = partial(_lines, stdin)
    else:
        bar = sys.stderr.isatty() and not flags["quiet"]
        with progress(len(found.files), bar) as done, _cache(settings.run, flags) as cache:
            run = check_paths(found.files, settings, flags["jobs"], done, cache)
    run = Run(run.results, (*found.problems, *run.problems))
    if to_write is not None:
        return Run(problems=run.problems), Fixes(run), renew(run, to_write, settings, lines)
    fixes = fixing.fixes_of(run, settings, flags, stdin)
    if flags["diff"]:
        return Run(fixes.gone(run), fixes.run.problems), fixes, fixing.show_diff(fixes, flags["output_file"])
    stream = sys.stdout
    if stdin is not None and fixing.are_wanted(settings.run):
        lines, stream = partial(_lines, fixing.show_content(fixes, stdin)), sys.stderr
    run, notes = hide(fixes.run, known, settings, lines, flags["verbose"])
    if flags["add_noqa"]:
        run, notes = add_comments(run, settings, notes)
        return run, fixes, notes
    if settings.run.show_fixes:
        notes += fixing.listed(fixes)
    if settings.run.fix_only:
        return Run(problems=run.problems), fixes, [*notes, fixing.counted(fixes)]
    _report(run, settings, flags, lines, fixes, stream)
    return run, fixes, notes


def _cache(settings: Settings, flags: dict[str, Any]) -> AbstractContextManager[Cache | None]:
    folder: Path | None = flags["cache_dir"]
    return nullcontext() if flags["no_cache"] else Cache(cache_folder(folder, settings))


def _report(
    run: Run,
    settings: Configuration,
    flags: dict[str, Any],
    lines: report.Lines,
    fixes: Fixes,
    stream: TextIO,
) -> None:
    file = flags["output_file"]
    look = report.Look(
        color=wants_color(flags["color"], stream) if file is None else flags["color"] == "always",
        width=terminal_width() if file is None else None,
        quiet=flags["quiet"],
        verbose=flags["verbose"],
        lines=lines,
        is_fixable=partial(has_applicable, settings=settings),
        fixed=fixes.applied.total(),
        hidden=fixing.hidden(run, settings),
    )
    if flags["statistics"]:
        emit(report.statistics(settings.run.output_format, run), file, stream)
    else:
        emit(report.render(settings.run.output_format, run, look), file, stream)


def _lines(data: bytes, _filename: str, cell: int | None = None) -> Sequence[str]:
    return report.lines_of_bytes(data) if cell is None else report.lines_of_cell(data, cell)


def _remarks(notes: Sequence[str], flags: dict[str, Any]) -> None:
    if flags["quiet"]:
        return
    for note in notes:
        remark(f"note: {note}")


def _shown(paths: Sequence[str], configuration: Configuration) -> str:
    """The settings of the first path, a key a line, in the spelling of the configuration file. Raises ConfigError."""
    first = next((each for each in paths if each != "-"), ".")
    settings = configuration.of(os.path.join(first, "") if is_folder(first) else first)  # noqa: PTH118
    lines = [
        f"# what holds for {reported(first)}",
        f"# {settings.config_file or 'no configuration file'}",
        f"# patterns are relative to {settings.patterns_from}",
    ]
    for prefix, record in (("", settings), ("verify.", settings.verify)):
        for option in options(type(record)):
            value = getattr(record, option.key.replace("-", "_"))
            shown = "{}" if value == () and option.kind.startswith("a table") else written(value)
            lines.append(f"# {prefix}{option.key} is not set" if value is None else f"{prefix}{option.key} = {shown}")
    return "".join(f"{escape(line)}\n" for line in lines)
