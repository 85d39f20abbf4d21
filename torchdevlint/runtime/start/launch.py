"""Run the user's program with its own stdin, stdout and stderr, under the checker, and collect the records.

Unlike the workers of `child`, this process is the user's: it may ask questions, run for days, and start others. Where
stdin is no terminal it gets a session of its own, all of which is ended with it; at a terminal it stays in the
foreground, where Ctrl-C reaches it and what it has started.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torchdevlint.runtime.start import inherit, shims
from torchdevlint.runtime.start.inherit import DEVICE, FLAT, LINES, RECORD, SIMULATE, SIMULATE_KIND
from torchdevlint.runtime.start.unseen import Watch
from torchdevlint.runtime.tell.account import Account, Hidden, merge, read

WATCH = "torchdevlint.integrations.pytest_watch"
TIMED_OUT = 124
"""The exit code of a program that was ended by its time limit, as with ``timeout`` of GNU coreutils."""
GRACE = 5.0
NO_TORCH = 'torch is not installed here: pip install "torchdevlint[verify]"'
_HIDDEN = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "", "ROCR_VISIBLE_DEVICES": "", "ZE_AFFINITY_MASK": ""}
_POLL = 0.05


class UsageError(Exception):
    """The program cannot be started; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be run. `device` is the type of the real accelerators, or empty: then some are simulated.

    That is `accelerators` of `kind`, one of `KINDS`. `seconds` is the time it may take, None for as long as it likes.
    `lines` are rows by the real path of their file: whether they are executed is recorded. `observer` names a module
    whose ``install(observed, recorder)`` is called in each process, with plain values, after the backend has begun.
    """

    command: tuple[str, ...]
    accelerators: int = 2
    kind: str = "cuda"
    device: str = ""
    seconds: float | None = None
    lines: Mapping[str, Sequence[int]] = field(default_factory=dict)
    observer: str = ""
    observed: Sequence[Any] = ()
    flat: bool = False
    """The simulated accelerators are the CPU under another name."""
    output_to_stderr: bool = False
    """For a caller whose own stdout says something else."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The program's own exit code, 128 and the number for a signal as in a shell, and what was recorded."""

    status: int
    account: Account
    timed_out: bool = False

    @property
    def code(self) -> int:
        """What `torchdevlint run` exits with: 0 only if the program ended with 0, all of it was checked, and no device
        error was left to nobody.
        """
        if self.account.failures:
            return 2
        unchecked = self.account.hidden or not self.account.processes
        return self.status or (2 if unchecked else 1 if self.account.errors else 0)


def run(order: Order) -> Outcome:
    """Run a program to its end. Raises UsageError if it cannot be started."""
    command = _resolved(order.command)
    folder = Path(tempfile.mkdtemp(prefix="torchdevlint-run-"))
    try:
        env = environment(order, folder)
        status, timed_out, hidden = _executed(command, env, order)
        return Outcome(status, replace(merge(read(folder), status), hidden=hidden), timed_out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def environment(order: Order, folder: Path) -> dict[str, str]:
    """This process's environment, and what makes every Python in it record into `folder`."""
    env = dict(os.environ)
    env[RECORD] = str(folder)
    for name in (SIMULATE, SIMULATE_KIND, DEVICE, LINES, FLAT):
        env.pop(name, None)
    if order.flat:
        env[FLAT] = "1"
    if order.lines or order.observer:
        wanted = folder / "wanted.lines"
        lines = {path: list(rows) for path, rows in order.lines.items()}
        asked = {"lines": lines, "observer": order.observer, "observed": list(order.observed)}
        wanted.write_text(json.dumps(asked), "utf-8")
        env[LINES] = str(wanted)
    if order.device:
        env[DEVICE] = order.device
    else:
        env[SIMULATE], env[SIMULATE_KIND] = str(order.accelerators), order.kind
        env |= {} if order.accelerators else _HIDDEN
    env[inherit.PATH] = inherit.on_path(env.get(inherit.PATH, ""))
    env["PYTEST_PLUGINS"] = ",".join(filter(None, (env.get("PYTEST_PLUGINS", ""), WATCH)))
    if os.name == "posix":
        search = env.get("PATH", os.defpath)
        shims.make(folder / "bin", search, inherit.kept(env))
        env["PATH"] = os.pathsep.join((str(folder / "bin"), search))
    return env


def _resolved(command: Sequence[str]) -> list[str]:
    """The command with its executable found. A Python file that cannot be executed is run by this interpreter."""
    name, *arguments = command
    path = Path(name)
    if path.suffix == ".py" and path.is_file() and not os.access(path, os.X_OK):
        name, arguments = sys.executable, [name, *arguments]
    found = shutil.which(name)
    if found is None and name in ("python", "python3"):
        found = sys.executable
    if found is None:
        raise UsageError(f"there is no command `{name}`")
    beside = Path(found).parent == Path(sys.executable).parent
    if beside and importlib.util.find_spec("torch") is None:
        raise UsageError(NO_TORCH)
    return [found, *arguments]


def _executed(command: Sequence[str], env: Mapping[str, str], order: Order) -> tuple[int, bool, tuple[Hidden, ...]]:
    """The exit code of the program, whether the time was over before, and the processes that were not checked."""
    own_session = hasattr(os, "killpg") and not sys.stdin.isatty()
    received: list[int] = []
    out = sys.stderr.fileno() if order.output_to_stderr else None
    with _signals(received.append):
        try:
            process = subprocess.Popen(command, env=env, stdout=out, start_new_session=own_session)
        except OSError as error:
            raise UsageError(f"`{command[0]}` cannot be started: {error.strerror or error}") from error
        group = _Group(process, own_session, env[RECORD])
        watch = Watch(process.pid, Path(env[RECORD]))
        try:
            timed_out = _wait(process, group, watch, received, order.seconds)
        finally:
            group.end()
    if timed_out:
        return TIMED_OUT, True, watch.hidden()
    return (128 - process.returncode if process.returncode < 0 else process.returncode), False, watch.hidden()


def _wait(
    process: subprocess.Popen[bytes], group: _Group, watch: Watch, received: list[int], seconds: float | None
) -> bool:
    """Wait for the end, handing on signals. Whether the time was over before it."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while process.poll() is None:
        watch.look()
        while received:
            number = received.pop(0)
            if group.own_session or number != signal.SIGINT:  # at a terminal Ctrl-C has reached it already
                group.send(number)
        if deadline is not None and time.monotonic() > deadline:
            group.send(signal.SIGINT)  # so that it can end in order, with its record
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
            return True
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_POLL)
    return False


@dataclass(frozen=True, slots=True)
class _Group:
    """The program and everything that it has started: what is in its session, or has our folder in its environment."""

    process: subprocess.Popen[bytes]
    own_session: bool
    folder: str

    def send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.own_session:
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)

    def end(self) -> None:
        """Leave nothing running; what is left may finish for a moment, and write its record."""
        if self.own_session and self._alive():
            self.send(signal.SIGTERM)
            until = time.monotonic() + 1.0
            while self._alive() and time.monotonic() < until:
                self.process.poll()
                time.sleep(_POLL)
            self.send(signal.SIGKILL)
        elif self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for number in self._strays():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)

    def _strays(self) -> list[int]:
        """Processes with a session of their own, such as the ranks of torchrun; they are told on Linux only."""
        mark = f"{RECORD}={self.folder}".encode()
        found = []
        for file in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in file.read_bytes().split(b"\0"):
                    found.append(int(file.parent.name))
        return found

    def _alive(self) -> bool:
        try:
            os.killpg(self.process.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True


@contextlib.contextmanager
def _signals(receive: Callable[[int], None]) -> Iterator[None]:
    """Signals that would end this process are received instead: they are the program's to answer."""
    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
    previous = {}
    for number in (getattr(signal, name) for name in names if hasattr(signal, name)):
        with contextlib.suppress(ValueError):  # not in the main thread
            previous[number] = signal.signal(number, lambda signum, _frame: receive(signum))
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
