"""The parent's side of `runtime.execute.fork_server`: servers that start without importing torch again."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import torchdevlint
from torchdevlint.runtime.child import child_environment

STARTING = 60.0
"""Seconds that importing torch may take."""
ENDING = 10.0


@dataclass(slots=True)
class Forked:
    """A process that is a fork of another's, with what `subprocess.Popen` has for one: it is no child of this one."""

    pid: int
    handle: int
    stdin: IO[bytes]
    stdout: IO[bytes]
    over: bool = False

    def poll(self) -> int | None:
        """None while it runs. How it ended is not known."""
        return 0 if self._ends(0.0) else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises `subprocess.TimeoutExpired`."""
        if not self._ends(timeout):
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return 0

    def kill(self) -> None:
        if not self.over:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    def _ends(self, seconds: float | None) -> bool:
        if not self.over:
            waiting = select.poll()
            waiting.register(self.handle, select.POLLIN)
            self.over = bool(waiting.poll(None if seconds is None else seconds * 1000))
            if self.over:
                os.close(self.handle)
        return self.over


class ForkServer:
    """The process above the servers, from the first of them to the end of the context."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.connection: socket.socket | None = None

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_exc_info: object) -> None:
        with self.lock:
            self._stop()

    def start(self, folder: Path, prepared: str | None) -> Forked:
        """A server that works in `folder`. Raises OSError if there can be none.

        Where code of a user has ended the process above, another one is started.
        """
        with self.lock:
            try:
                return self._fork(folder, prepared)
            except OSError:
                self._stop()
                return self._fork(folder, prepared)

    def _fork(self, folder: Path, prepared: str | None) -> Forked:
        connection = self.connection or self._start()
        request = json.dumps({"folder": str(folder), "prepared": prepared}).encode()
        stdin, to_it = os.pipe()
        from_it, stdout = os.pipe()
        handles: list[int] = []
        try:
            socket.send_fds(connection, [request], [stdin, stdout])
            pid, handles, *_ = socket.recv_fds(connection, 1 << 10, 1)
        finally:
            for stream in (stdin, stdout) if handles else (stdin, stdout, to_it, from_it):
                os.close(stream)
        if not handles:
            raise ConnectionResetError("the process above the servers has ended")
        return Forked(int(pid), handles[0], open(to_it, "wb"), open(from_it, "rb"))  # noqa: PTH123

    def _start(self) -> socket.socket:
        here, there = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with there:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "torchdevlint.runtime.execute.fork_server", str(there.fileno())],
                cwd=Path(torchdevlint.__file__).parent.parent,  # `-m` puts it on the import path, where it is already
                env=child_environment(),
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        here.settimeout(STARTING)
        self.connection = here
        return here

    def _stop(self) -> None:
        process, connection = self.process, self.connection
        self.process = self.connection = None
        if connection is not None:
            connection.close()
        if process is None:
            return
        try:
            process.wait(ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def can_fork() -> bool:
    """Whether this system has what a `ForkServer` needs: open files that stand for processes (Linux 5.3)."""
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return hasattr(signal, "pidfd_send_signal")
