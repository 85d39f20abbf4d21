"""The process that executes findings: it has imported torch, and forks a child for every request.

It reads one JSON object a line from stdin and writes one a line to stdout, after the request's token. A child runs in a
session and an empty folder of its own, with limits on time and memory; when it is over, so is everything that it has
started. It has no open file that leads to an answer while the code of the finding runs: the answer is a file that it
makes at its end.

On Linux a `guard` stands above, which ends whatever is left when the server or the parent is gone. Elsewhere the
server ends itself when stdin closes, and processes that have left their group are not found. Without fork (Windows) it
serves one request itself and ends; the parent starts another.
"""

from __future__ import annotations

import builtins
import contextlib
import faulthandler
import gc
import json
import json.encoder
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

from torchdevlint.runtime.execute.guard import adopt_orphans, end_descendants, end_with, fork_below_a_guard
from torchdevlint.runtime.execute.limits import limit

TAIL = 4_000
LARGEST_ANSWER = 1 << 20

_exit, _getpid = os._exit, os.getpid
_KEPT = [
    (names, dict(names))
    for names in (builtins.__dict__, os.__dict__, json.__dict__, json.encoder.__dict__, traceback.__dict__)
]
_KEPT_OF_SYS = sys.settrace, sys.setprofile, sys.setrecursionlimit, sys.getrecursionlimit()
"""What a child needs for its end, kept from code that changes the modules."""


def main() -> None:
    """Serve until stdin closes. The first argument is an empty folder that is this process's to use and to remove.

    A second one is a file that says what `hunt` wants to be done before the first fork.
    """
    folder = Path(sys.argv[1])
    answers = begin(folder)
    warm()
    serve(folder, answers, sys.argv[2] if len(sys.argv) > 2 else None)


def begin(folder: Path) -> int:
    """Have a guard stand above, and keep stdout for answers: the descriptor to write them to."""
    if sys.platform == "linux" and hasattr(os, "fork"):
        fork_below_a_guard(folder)
        adopt_orphans()
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return answers


def warm() -> None:
    """Import torch, and what every child needs. What is imported here is not run: no device is touched."""
    import numpy  # noqa: F401

    from torchdevlint.runtime import worker  # noqa: F401
    from torchdevlint.runtime.execute import kernel_threads, perform  # noqa: F401
    from torchdevlint.runtime.simulated import simulate

    kernel_threads.take_one()
    with simulate(count=0):
        pass


def serve(folder: Path, answers: int, prepared: str | None) -> None:
    """Answer requests from now on, after what is to be `prepared`."""
    if prepared is not None:
        _prepare(json.loads(Path(prepared).read_text("utf-8")), folder)
    stream = _Lines(0)
    while (line := stream.next()) is not None:
        request = json.loads(line)
        token = request.pop("token").encode()
        answer = _Child(request, folder, answers).outcome() if hasattr(os, "fork") else _alone(request, folder)
        _write(answers, token + json.dumps(answer).encode() + b"\n")
        if not hasattr(os, "fork"):
            break
    end_descendants()
    _exit(0)


def _prepare(order: dict[str, Any], folder: Path) -> None:
    """Import a project, whose code sees neither requests nor answers."""
    from torchdevlint.runtime.hunt import child

    requests = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    child.prepare(order, folder)
    gc.freeze()  # so that a collection in a fork does not copy the pages of what is shared
    os.dup2(requests, 0)
    os.close(requests)


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

    def __init__(self, request: dict[str, Any], home: Path, answers: int) -> None:
        self.request = request
        home.mkdir(exist_ok=True)  # the last child may have removed it
        self.folder = Path(tempfile.mkdtemp(dir=home))
        self.work, self.answer = self.folder / "work", self.folder / "answer.json"
        self.work.mkdir()
        self.output = b""
        self.printed, printing = os.pipe()
        server = os.getpid()
        self.pid = os.fork()
        if not self.pid:
            try:
                os.close(answers)
                self._become(server, printing)
            finally:
                _exit(1)
        os.close(printing)

    def _become(self, server: int, printing: int) -> None:
        end_with(server)
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(printing, 1)
        os.dup2(printing, 2)
        for stream in (self.printed, printing):
            os.close(stream)
        faulthandler.enable(2)
        os.chdir(self.work)
        os.environ["TMPDIR"] = tempfile.tempdir = str(self.folder)
        limit(self.request["memory"])
        child, path = os.getpid(), str(self.answer)
        answer = _here(self.request)
        if _getpid() == child:  # the code may have forked, and both come to here
            _leave(path, answer)
        _exit(0)

    def outcome(self) -> dict[str, Any]:
        """Wait for the end, or end it at the deadline."""
        deadline = time.monotonic() + self.request["seconds"]
        timed_out = parent_gone = False
        status: int | None = None
        with selectors.DefaultSelector() as selector:
            for stream in (self.printed, 0):
                selector.register(stream, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select(timeout=0.02):
                    parent_gone = self._take(key.fd, selector) or parent_gone
                over, raw = os.waitpid(self.pid, os.WNOHANG)
                if over:
                    status = raw
                timed_out = time.monotonic() > deadline
                if status is not None or timed_out or parent_gone:
                    break
        self._end()
        try:
            if parent_gone:
                _exit(2)
            text = self._rest_of_output()
            if timed_out and status is None:
                return _ended("timed out", f"no end after {self.request['seconds']:g} s", text)
            return {**self._answer(status or 0), "output": text}
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _answer(self, status: int) -> dict[str, Any]:
        try:
            if self.answer.stat().st_size > LARGEST_ANSWER:
                return _ended("died", "its answer was too large", "")
            answer: dict[str, Any] = json.loads(self.answer.read_bytes())
        except (OSError, ValueError):
            return _ended("died", _death(status), "")
        return answer

    def _take(self, stream: int, selector: selectors.BaseSelector) -> bool:
        """Read what is there; whether it says that the parent is gone."""
        if stream == 0:
            return not _peek_open(0)
        piece = os.read(stream, 1 << 16)
        if not piece:
            selector.unregister(stream)
        self.output = (self.output + piece)[-TAIL:]
        return False

    def _rest_of_output(self) -> str:
        """All that was printed, cut: what is still in the pipe, but nothing of a process that could not be ended."""
        os.set_blocking(self.printed, False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(64):
                self.output = (self.output + os.read(self.printed, 1 << 16))[-TAIL:]
        os.close(self.printed)
        return self.output.decode("utf-8", "replace")

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        end_descendants()


def _alone(request: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Without fork: in this process, with an empty stdin."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(folder)
    return _here(request)


def _here(request: dict[str, Any]) -> dict[str, Any]:
    """Do what is asked in this process. What goes wrong in the harness itself is told as such."""
    from torchdevlint.runtime import worker
    from torchdevlint.runtime.execute import perform

    ways = {
        "find": perform.find,
        "execute": perform.execute,
        "examples": perform.examples,
        "call": worker.answered,
        "hunt": _hunt,
    }
    sys.path[:0] = [path for path in dict.fromkeys(request["paths"]) if path not in sys.path]
    try:
        value = ways[request["do"]](request)
    except BaseException as error:  # noqa: BLE001 (everything is an answer)
        _recover()
        return _ended("raised", _told(error), "", _trace())
    return {"ended": "returned", "value": value, "detail": "", "traceback": "", "output": ""}


def _hunt(request: dict[str, Any]) -> Any:
    from torchdevlint.runtime.hunt import child

    return child.answer(request)


def _told(error: BaseException) -> str:
    """The exception in one line, also if it cannot be printed: what is raised may be the user's own."""
    try:
        return f"{type(error).__name__}: {error}"[:TAIL]
    except BaseException:  # noqa: BLE001
        return f"{type(error).__name__}, which cannot be printed"


def _trace() -> str:
    try:
        return traceback.format_exc()[-TAIL:]
    except BaseException:  # noqa: BLE001
        return ""


def _recover() -> None:
    """Undo what keeps this process from telling: changed modules, a tracer, a low limit on recursion, no memory."""
    trace, profile, limit_recursion, depth = _KEPT_OF_SYS
    trace(None)
    profile(None)
    for names, kept in _KEPT:
        names.update(kept)
    limit_recursion(depth)
    if sys.platform != "win32":
        import resource

        with contextlib.suppress(ValueError, OSError):
            hard = resource.getrlimit(resource.RLIMIT_AS)[1]
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _leave(path: str, answer: dict[str, Any]) -> None:
    """Write the answer, and what was printed, if the code has left the means to."""
    _recover()
    data = json.dumps(answer).encode()
    way = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        stream = os.open(path, way, 0o600)
    except OSError:  # too many files are open
        os.closerange(3, 1 << 16)
        stream = os.open(path, way, 0o600)
    _write(stream, data)
    with contextlib.suppress(BaseException):
        sys.stdout.flush()


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


if __name__ == "__main__":
    main()
