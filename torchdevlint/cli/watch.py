"""``check --watch``: lint, and lint again when a file has changed, until it is interrupted."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torchdevlint.cli.console import remark
from torchdevlint.cli.options import config_file
from torchdevlint.cli.refused import Refused
from torchdevlint.config import NAMES, ConfigError, Configuration, load
from torchdevlint.discover import discover

PAUSE = 0.3
"""Seconds between two looks at the files, or ten times as long as a look takes if that is longer."""
START = "import sys; sys.path[:] = {path!r}; from torchdevlint.cli import script; script()"
"""A run sees what an edit has made of the modules that it keeps, so it is a process of its own."""

State = dict[str, tuple[int, int]]
"""When each file was changed, in nanoseconds, and its size."""


def watch(
    paths: Sequence[str],
    flags: dict[str, Any],
    configured: Callable[[Sequence[str], dict[str, Any]], Configuration],
    arguments: Sequence[str],
) -> int:
    """Run `check` with the `arguments` that this process was given whenever a file is not as it was.

    Those are the files that are linted and the configurations that hold for them. What a run has fixed is as it was,
    until somebody else changes it. Raises KeyboardInterrupt.
    """
    with TemporaryDirectory(prefix="torchdevlint-") as folder:
        note = Path(folder, "written.json")
        command = [sys.executable, "-c", START.format(path=sys.path), *_once(arguments, note)]
        while True:
            state = _state(paths, flags, configured)
            if flags["output_file"] is None and sys.stdout.isatty():
                from click import clear

                clear()
            subprocess.run(command, check=False)
            state.update(_taken(note))
            if not flags["quiet"]:
                remark("watching for changes; Ctrl-C ends it")
            _wait(lambda before=state: _state(paths, flags, configured) != before)  # type: ignore[misc]


def tell(note: Path, files: Iterable[str]) -> None:
    """Write down for whoever watches how files are that a run has just written."""
    note.write_text(json.dumps(dict(filter(None, map(_seen, files)))), encoding="utf-8")


def _taken(note: Path) -> State:
    """What a run has written down, once; nothing where it came to no end."""
    try:
        told = json.loads(note.read_text(encoding="utf-8"))
        note.unlink()
    except (OSError, ValueError):
        return {}
    return {file: (changed, size) for file, (changed, size) in told.items()}


def _wait(changed: Callable[[], bool]) -> None:
    while True:
        started = time.monotonic()
        if changed():
            return
        time.sleep(max(PAUSE, 10 * (time.monotonic() - started)))


def _once(arguments: Sequence[str], note: Path) -> list[str]:
    """The arguments of a single run, which tells what it has written."""
    command, *rest = [each for each in arguments if each != "--watch"]
    return [command, "--written-to", str(note), *rest]


def _state(
    paths: Sequence[str],
    flags: dict[str, Any],
    configured: Callable[[Sequence[str], dict[str, Any]], Configuration],
) -> State:
    files = list(_configurations(flags))
    with suppress(Refused):  # the run says what is wrong with the configuration
        configuration = configured(paths, flags)
        files += discover(paths or (".",), configuration).files
        files += configuration.sources()
    return dict(filter(None, map(_seen, files)))


def _configurations(flags: dict[str, Any]) -> Iterator[str]:
    """The files that hold, or could hold, the configuration of the run, also where it cannot be used."""
    file, extended = config_file(flags), list[str]()
    with suppress(ConfigError):
        load(Path(), flags["isolated"], file, extended.append)
    yield from extended
    if file is not None:
        yield str(file)
        return
    here = Path.cwd()
    yield from (str(folder / name) for folder in (here, *here.parents) for name in NAMES)


def _seen(file: str) -> tuple[str, tuple[int, int]] | None:
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return file, (status.st_mtime_ns, status.st_size)
