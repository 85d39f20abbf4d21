"""Command lines of Python without the start of Python: in forks of a process that has imported torch.

`python` is that of `tests.conftest`, `Popen` that of `subprocess`, at a hundredth of the time where torch is imported.
What a fork cannot stand for (another hash seed, an option of the interpreter, another program) is a process of its own;
so is everything where there is no Linux or no torch, or with ``pytest --without-forks``. Tests of how a process starts
and ends take processes of their own, and say so.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests import as_python, fork_server
from tests.fork_server import HEAD

ROOT = Path(__file__).parent.parent
STARTING = 120.0
ENDING = 30.0
IN_LARGE_PAGES = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""What the server has in memory lies in few pages, so that a fork takes five milliseconds and not twenty."""
_PAUSES = (0.0005, 0.001, 0.002, 0.004, 0.008)


class _Server:
    """The process above the forks, from its first use to the end of the tests."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.connection: socket.socket | None = None
        self.wanted = sys.platform == "linux" and find_spec("torch") is not None

    def ask(self, request: dict[str, Any], streams: tuple[int, ...] = ()) -> dict[str, Any]:
        """The answer of the process, which is started first if there is none. ConnectionError: it died meanwhile."""
        with self.lock:
            connection = self.connection or self._start()
            try:
                _send(connection, request, streams)
                head = connection.recv(HEAD.size, socket.MSG_WAITALL)
                if not head:
                    raise ConnectionResetError("the process above the forks ended without an answer")
                answer: dict[str, Any] = json.loads(connection.recv(*HEAD.unpack(head), socket.MSG_WAITALL))
            except OSError:
                self.stop()
                raise
            return answer

    def stop(self) -> None:
        """End the process, whatever state it is in; the next question starts another.

        It is told to: the socket also closes only when no fork of this process has it any more.
        """
        process, connection = self.process, self.connection
        self.process = self.connection = None
        if connection is not None:
            with connection, suppress(OSError):
                _send(connection, {"do": "end"})
        if process is not None:
            end(process)

    def _start(self) -> socket.socket:
        here, there = socket.socketpair()
        with there:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", str(there.fileno())],
                cwd=ROOT,
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                env={**environment(), **as_python.FIXED, **IN_LARGE_PAGES, "PYTHONPATH": str(ROOT)},
            )
        here.settimeout(STARTING)
        self.connection = here
        return here


SERVER = _Server()


def _send(connection: socket.socket, request: dict[str, Any], streams: tuple[int, ...] = ()) -> None:
    data = json.dumps(request).encode()
    socket.send_fds(connection, [HEAD.pack(len(data))], streams)
    connection.sendall(data)


def end(process: subprocess.Popen[Any]) -> None:
    """Wait for a process that was told to end, and kill it if it does not. Nobody waits for a fork of a dead server."""
    try:
        with suppress(ConnectionError):
            process.wait(timeout=ENDING)
    except subprocess.TimeoutExpired:
        warnings.warn(f"{process.args} did not end in {ENDING:.0f} seconds and was killed", stacklevel=2)
        process.kill()
        process.wait()


def environment() -> dict[str, str]:
    """That of the tests, without what it says to the interpreter."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


class Popen(subprocess.Popen):  # type: ignore[type-arg]
    """A process as that of `subprocess`, in a fork of the server if that can stand for it."""

    forked = False
    above: subprocess.Popen[bytes] | None = None
    """The server's process; no other can wait for its forks."""

    def _execute_child(self, *arguments: Any) -> None:
        request, streams = fork_server.ordered(self, *arguments)
        if request is None or not SERVER.wanted:
            super()._execute_child(*arguments)  # type: ignore[misc]
            return
        self.forked = True
        fork_server.started(self, SERVER.ask(request, streams)["pid"], arguments)
        self.above = SERVER.process

    def _internal_poll(self, _deadstate: int | None = None, **options: Any) -> int | None:
        """As in `subprocess`: without a `_deadstate`, which is for ``__del__``, an unknown exit status is an error."""
        if not self.forked:
            return super()._internal_poll(_deadstate, **options)  # type: ignore[misc, no-any-return]
        with self._waitpid_lock:  # type: ignore[attr-defined]
            if self.returncode is None:
                try:
                    self._take(self._asked())
                except ConnectionError:
                    if _deadstate is None:
                        raise
                    self.returncode = _deadstate
        return self.returncode

    def _asked(self) -> dict[str, Any]:
        if self.above is None or SERVER.process is not self.above:
            raise ConnectionResetError("the process above this fork has ended, and nobody else knows how it did")
        return SERVER.ask({"do": "wait", "pid": self.pid})

    def _wait(self, timeout: float | None) -> int:
        if not self.forked:
            return super()._wait(timeout)  # type: ignore[misc, no-any-return]
        until = None if timeout is None else time.monotonic() + timeout
        pauses = iter(_PAUSES)
        while self._internal_poll() is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            time.sleep(next(pauses, _PAUSES[-1]))
        assert self.returncode is not None
        return self.returncode

    def _take(self, answer: dict[str, int]) -> None:
        if answer["pid"]:
            self._handle_exitstatus(answer["status"])  # type: ignore[attr-defined]


def run(
    command: list[str], *, stdin: str | None = None, timeout: float = 120, **options: Any
) -> subprocess.CompletedProcess[str]:
    """As ``subprocess.run(command, input=stdin, capture_output=True, text=True)``."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with Popen(command, text=True, encoding="utf-8", **pipes, **options) as process:
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except BaseException:
            with suppress(ProcessLookupError):
                process.kill()
            raise
        return subprocess.CompletedProcess(command, process.returncode, out, err)


def python(
    *arguments: str, cwd: Path | None = None, stdin: str | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Runs this interpreter with `arguments`, colourless, with the repository importable."""
    return run(
        [sys.executable, *arguments],
        stdin=stdin,
        cwd=cwd or ROOT,
        env={**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", **env},
    )
