"""The process that executes findings: it imports torch once, and forks a child for every request.

It reads one JSON object a line from stdin and writes one a line to stdout. A child runs in a session and an empty
folder of its own, with limits on time and memory; when it is over, so is everything that it has started. When stdin
closes, the parent is gone, and this process ends with all its children. Without fork (Windows) it serves one request
itself and ends; the parent starts another.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import os
import selectors
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

TAIL = 4_000
LARGEST_ANSWER = 1 << 20
_PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _adopt_orphans()
    import torch

    torch.set_num_threads(1)
    _warm()
    stream = _Lines(0)
    while (line := stream.next()) is not None:
        request = json.loads(line)
        answer = _Child(request).outcome() if hasattr(os, "fork") else _here(request)
        _write(answers, (json.dumps(answer) + "\n").encode())
        if not hasattr(os, "fork"):
            break
    _end_descendants()
    os._exit(0)


def _warm() -> None:
    """Import what every child needs. What is imported here is not run: no device is touched."""
    import numpy  # noqa: F401

    from torchdevlint.runtime.execute import perform  # noqa: F401
    from torchdevlint.runtime.simulated import simulate

    with simulate(count=0):
        pass


class _Lines:
    """Lines of a file descriptor; None at its end."""

    def __init__(self, stream: int) -> None:
        self.stream, self.rest = stream, b""

    def next(self) -> bytes | None:
        while b"\n" not in self.rest:
            piece = os.read(self.stream, 1 << 16)
            if not piece:
                return None
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\n")
        return line


class _Child:
    """One forked execution."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.folder = Path(tempfile.mkdtemp(prefix="torchdevlint-"))
        self.answer, self.output = b"", b""
        self.reading, writing = os.pipe()
        self.printed, printing = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                self._become(writing, printing)
            finally:
                os._exit(1)
        os.close(writing)
        os.close(printing)

    def _become(self, writing: int, printing: int) -> None:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(printing, 1)
        os.dup2(printing, 2)
        for stream in (self.reading, self.printed, printing):
            os.close(stream)
        faulthandler.enable(2)
        os.chdir(self.folder)
        _limit(self.request["memory"])
        answer = _here(self.request)
        sys.stdout.flush()
        with contextlib.suppress(OSError):
            _write(writing, json.dumps(answer).encode())
        os._exit(0)

    def outcome(self) -> dict[str, Any]:
        """Wait for the end, or end it at the deadline."""
        deadline = time.monotonic() + self.request["seconds"]
        timed_out = parent_gone = False
        status: int | None = None
        with selectors.DefaultSelector() as selector:
            for stream in (self.reading, self.printed, 0):
                selector.register(stream, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select(timeout=0.02):
                    parent_gone = self._take(key.fd, selector) or parent_gone
                over, raw = os.waitpid(self.pid, os.WNOHANG) if status is None else (self.pid, status)
                if over:
                    status = raw
                timed_out = time.monotonic() > deadline
                if status is not None or timed_out or parent_gone:
                    break
            self._end(reap=status is None)
            for stream in (self.reading, self.printed):
                self._drain(stream)
        if parent_gone:
            os._exit(2)
        text = self.output.decode("utf-8", "replace")
        if timed_out and status is None:
            return _ended("timed out", f"no end after {self.request['seconds']:g} s", text)
        try:
            answer = json.loads(self.answer)
        except ValueError:
            return _ended("died", _death(status or 0), text)
        return {**answer, "output": text}

    def _take(self, stream: int, selector: selectors.BaseSelector) -> bool:
        """Read what is there; whether it says that the parent is gone."""
        if stream == 0:
            return not _peek_open(0)
        piece = os.read(stream, 1 << 16)
        if not piece:
            selector.unregister(stream)
        elif stream == self.reading:
            self.answer = (self.answer + piece)[: LARGEST_ANSWER + 1]
        else:
            self.output = (self.output + piece)[-TAIL:]
        return False

    def _drain(self, stream: int) -> None:
        os.set_blocking(stream, False)
        with contextlib.suppress(BlockingIOError, OSError):
            while piece := os.read(stream, 1 << 16):
                if stream == self.reading:
                    self.answer = (self.answer + piece)[: LARGEST_ANSWER + 1]
                else:
                    self.output = (self.output + piece)[-TAIL:]
        os.close(stream)

    def _end(self, reap: bool) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self.pid, signal.SIGKILL)
        if reap:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
        _end_descendants()
        shutil.rmtree(self.folder, ignore_errors=True)


def _here(request: dict[str, Any]) -> dict[str, Any]:
    """Do what is asked in this process. What goes wrong in the harness itself is told as such."""
    from torchdevlint.runtime.execute import perform

    try:
        value = {"find": perform.find, "execute": perform.execute}[request["do"]](request)
    except BaseException as error:  # noqa: BLE001 (everything is an answer)
        return _ended("raised", f"{type(error).__name__}: {error}", "", traceback.format_exc()[-TAIL:])
    return {"ended": "returned", "value": value, "detail": "", "traceback": "", "output": ""}


def _ended(how: str, detail: str, output: str, trace: str = "") -> dict[str, Any]:
    return {"ended": how, "value": None, "detail": detail, "traceback": trace, "output": output}


def _death(status: int) -> str:
    if os.WIFSIGNALED(status):
        with contextlib.suppress(ValueError):
            return f"it was killed by {signal.Signals(os.WTERMSIG(status)).name}"
        return f"it was killed by signal {os.WTERMSIG(status)}"
    return f"it ended with exit status {os.WEXITSTATUS(status)} and without an answer"


def _write(stream: int, data: bytes) -> None:
    while data:
        data = data[os.write(stream, data) :]


def _peek_open(stream: int) -> bool:
    """Whether the other end of a pipe that is readable has not been closed. Nothing is sent while a request runs."""
    return bool(os.read(stream, 1))


def _limit(memory: int | None) -> None:
    """No core dumps, and at most `memory` bytes more of address space than now, where the system has such limits."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if memory is None:
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS has the constant and refuses the limit
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _adopt_orphans() -> None:
    """Processes whose parent ends become children of this one (Linux), so that none is lost."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _end_descendants() -> None:
    """Kill every child that is left, until there is none; what they had started has become ours."""
    for _ in range(100):
        left = _children()
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _children() -> list[int]:
    if sys.platform != "linux":
        return []
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            if int(file.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.append(int(file.parent.name))
    return found


if __name__ == "__main__":
    main()
