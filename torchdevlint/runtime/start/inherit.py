"""What a process has to inherit so that the record begins in it, and how it stays with the processes that it starts.

The environment carries it: the variables of `boot`, and our folder at the front of ``PYTHONPATH``, whose
``sitecustomize`` every Python loads that is not told to ignore the environment. A program that starts another with an
environment of its own (``env={}``) would drop them; so the functions by which Python starts programs put them back. A
shell that does so meets the commands of `shims`.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from torchdevlint.runtime.importing import when_imported

RECORD, DEVICE = "TORCHDEVLINT_RECORD", "TORCHDEVLINT_DEVICE"
LINES = "TORCHDEVLINT_LINES"
SIMULATE, SIMULATE_KIND = "TORCHDEVLINT_SIMULATE", "TORCHDEVLINT_SIMULATE_KIND"
FLAT = "TORCHDEVLINT_FLAT"
VARIABLES = (RECORD, SIMULATE, SIMULATE_KIND, DEVICE, LINES, FLAT)
PATH = "PYTHONPATH"
BOOTSTRAP = Path(__file__).parent / "bootstrap"
HERE = ".here"
"""The ending of the file by which a process says that the record begins in it, named by the number of the process."""
_ENV = 10
"""The place of `env` among the parameters of `subprocess.Popen`, the first being `args`."""

Environment = Mapping[Any, Any]


def kept(environment: Mapping[str, str]) -> dict[str, str]:
    """What of `environment` is to be handed on."""
    return {name: environment[name] for name in VARIABLES if name in environment}


def on_path(value: str) -> str:
    """A value of ``PYTHONPATH`` with our folder, in front unless it has it."""
    parts = value.split(os.pathsep) if value else []
    return value if str(BOOTSTRAP) in parts else os.pathsep.join((str(BOOTSTRAP), *parts))


def whole(given: Mapping[str, str], environment: Environment | None) -> Environment | None:
    """An environment for a child (None: that of this process) with what it lacks of `given`; itself if nothing.

    One with a record of its own, such as that of a `torchdevlint run` within this one, has its own variables.
    """
    try:
        plain = {os.fsdecode(name): value for name, value in (environment or os.environ).items()}
        if environment is not None and not environment:
            plain = {}
        path = os.fsdecode(plain.get(PATH, ""))
    except (AttributeError, TypeError):
        return environment  # no environment: what starts the program says so
    added = {} if RECORD in plain else dict(given)
    if on_path(path) != path:
        added[PATH] = on_path(path)
    return {**plain, **added} if added else environment


def announce(folder: Path) -> None:
    """Say that the record of this process, and of the forks that it will make, begins as soon as torch is imported."""
    _say(folder)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=functools.partial(_say, folder))


def hand_on(given: Mapping[str, str]) -> None:
    """Let whatever this process starts inherit `given`, also with an environment of its own."""
    when_imported("subprocess", functools.partial(_watch_popen, given))
    for name in ("posix_spawn", "posix_spawnp"):
        if hasattr(os, name):
            setattr(os, name, _third_argument(getattr(os, name), given))
    os.execve = _third_argument(_leaving(os.execve, given), given)
    os.execv = _inheriting(_leaving(os.execv, given), given)


def _say(folder: Path) -> None:
    with contextlib.suppress(OSError):  # the folder is gone: nobody listens any more
        (folder / f"{os.getpid()}{HERE}").touch()


def _watch_popen(given: Mapping[str, str], module: ModuleType) -> None:
    original = module.Popen.__init__

    @functools.wraps(original)
    def begin(process: Any, *arguments: Any, **options: Any) -> None:
        if len(arguments) > _ENV:
            arguments = (*arguments[:_ENV], whole(given, arguments[_ENV]), *arguments[_ENV + 1 :])
        else:
            options["env"] = whole(given, options.get("env"))
        original(process, *arguments, **options)

    module.Popen.__init__ = begin


def _third_argument(original: Callable[..., Any], given: Mapping[str, str]) -> Callable[..., Any]:
    """A function of `os` that takes the environment in the third place, or by name."""

    @functools.wraps(original)
    def start(path: Any, arguments: Any, *env: Any, **options: Any) -> Any:
        if env:
            return original(path, arguments, whole(given, env[0]), *env[1:], **options)
        if "env" in options:
            options["env"] = whole(given, options["env"])
        return original(path, arguments, **options)

    return start


def _leaving(original: Callable[..., Any], given: Mapping[str, str]) -> Callable[..., Any]:
    """A function that puts another program in the place of this one: that has to announce itself."""

    @functools.wraps(original)
    def start(*arguments: Any, **options: Any) -> Any:
        folder = Path(given[RECORD])
        (folder / f"{os.getpid()}{HERE}").unlink(missing_ok=True)
        try:
            return original(*arguments, **options)
        finally:
            _say(folder)  # it was not started

    return start


def _inheriting(original: Callable[..., Any], given: Mapping[str, str]) -> Callable[..., Any]:
    """`os.execv`, also where the program has taken our variables out of `os.environ`."""

    @functools.wraps(original)
    def start(path: Any, arguments: Any) -> Any:
        env = whole(given, None)
        return original(path, arguments) if env is None else os.execve(path, arguments, env)  # noqa: S606 (what the program asked for)

    return start
