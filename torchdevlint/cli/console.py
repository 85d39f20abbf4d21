"""Writing to the user: reports, remarks, and a progress bar for long runs on a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from torchdevlint.cli.refused import Refused
from torchdevlint.model import Problem
from torchdevlint.report.terminal import escape, one_line, paint

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 1.0
"""Seconds before a progress bar appears."""


def wants_color(choice: str, stream: TextIO) -> bool:
    """Whether to colour what goes to `stream`; `choice` is that of ``--color``.

    For ``auto``: ``NO_COLOR`` wins over ``FORCE_COLOR``, which wins over what the stream is (https://no-color.org).
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def terminal_width() -> int | None:
    """The width of the terminal on stdout in cells, None if there is none."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return max(shutil.get_terminal_size().columns, 40)


def emit(text: str, file: Path | None = None, stream: TextIO | None = None) -> None:
    """Write a report to stdout, to another `stream`, or as UTF-8 to `file`. A reader that has gone away is no error.

    Raises Refused if it cannot be written.
    """
    try:
        if file is not None:
            file.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        else:
            _write(stream or sys.stdout, text)
    except OSError as error:
        target = "standard output" if file is None else str(file)
        raise Refused(f"cannot write to {target}: {error.strerror or error}") from error


def remark(text: str) -> None:
    """One line to stderr."""
    _tell(escape(text))


def complain(problem: Problem, color: bool) -> None:
    """One line to stderr for something that kept the tool from doing its job."""
    place = f"{escape(problem.filename)}: " if problem.filename is not None else ""
    _tell(f"{paint('error', 'error', color)}: {place}{one_line(problem.message)}")


def _tell(line: str) -> None:
    with suppress(OSError):  # where stderr cannot be written, the exit code is all that is left to say
        _write(sys.stderr, line + "\n")


def _write(stream: TextIO, text: str) -> None:
    try:
        if os.name == "nt":  # where a console may have to be told of colours
            import click

            click.echo(text, nl=False, file=stream, color=True)
        else:
            stream.write(text)
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def progress(files: int, enabled: bool) -> Iterator[Callable[[], None]]:
    """A function to call after each of `files` files; once the run is long, it draws a bar on stderr."""
    bar = _Bar(files, time.monotonic())
    try:
        yield bar.step if enabled else _nothing
    finally:
        bar.close()


def _nothing() -> None:
    pass


class _Bar:
    """The state of a progress bar. It starts no thread, so that workers can be forked at any time."""

    def __init__(self, total: int, started: float) -> None:
        self.total = total
        self.started = self.drawn = started
        self.done = 0
        self.live: Progress | None = None

    def step(self) -> None:
        self.done += 1
        now = time.monotonic()
        if now - self.started < PATIENCE or now - self.drawn < 0.1:
            return
        self.drawn = now
        if self.live is None:
            self.live = _start(self.total)
        self.live.update(self.live.task_ids[0], completed=self.done, refresh=True)

    def close(self) -> None:
        if self.live is not None:
            self.live.stop()


def _start(total: int) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("[cyan]linting"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    live = Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True)
    live.add_task("", total=total)
    live.start()
    return live
