"""Start, watch and end the child processes in which everything is executed.

Whatever a child does (hang, crash, ``os._exit``, print without end, start processes), the caller gets an `Outcome`, in
bounded time, and nothing of the child's process group is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

GIB = 1 << 30
TAIL = 4000
LARGEST_ANSWER = 1 << 20
_POLL = 0.01


class Ended(str, Enum):
    """How a call in a child ended."""

    RETURNED = "returned"
    RAISED = "raised"
    DIED = "died"
    TIMED_OUT = "timed out"


@dataclass(frozen=True, slots=True)
class Limits:
    """`seconds` of wall time, and `memory` in bytes of address space (POSIX; None for no limit).

    On real accelerators the address space is not limited: drivers reserve far more of it than they use.
    """

    seconds: float = 30.0
    memory: int | None = 8 * GIB


@dataclass(frozen=True, slots=True)
class Call:
    """What a child is to do: ``backends``, or ``function`` of the program in `source` with a `device`.

    `name` stands for the file name in tracebacks. `hide` takes CUDA and ROCm devices away from the child; `simulate`
    gives it that many simulated accelerators.
    """

    do: str
    name: str = ""
    source: str = ""
    function: str = ""
    device: str | None = None
    hide: bool = False
    simulate: int = 0
    limits: Limits = Limits()

    def to_json(self) -> dict[str, Any]:
        """What the process that does it is to know."""
        return {
            "do": self.do,
            "name": self.name,
            "source": self.source,
            "function": self.function,
            "device": self.device,
            "hide": self.hide,
            "simulate": self.simulate,
            "seconds": self.limits.seconds,
            "memory": self.limits.memory,
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a `Call`.

    `exception` holds the names of the exception's class and its bases, the most special first; `detail` says in words
    how a child died; `value` is what the function returned, as JSON; `output` the end of what the child printed.
    """

    ended: Ended
    value: Any = None
    exception: tuple[str, ...] = ()
    message: str = ""
    traceback: str = ""
    detail: str = ""
    output: str = ""

    @classmethod
    def from_json(cls, told: dict[str, Any], output: str) -> Outcome:
        """Of a process that could tell of its end itself."""
        return cls(
            Ended(told["ended"]),
            value=told["value"],
            exception=tuple(told["exception"]),
            message=told["message"],
            traceback=told["traceback"],
            output=output,
        )


def run_all(calls: Sequence[Call], at_once: int | None = None) -> list[Outcome]:
    """The outcomes of `calls`, in their order; at most `at_once` run at a time (by default as many as cores, up to 4).

    An interrupt ends every child before it is raised.
    """
    at_once = at_once or min(4, os.cpu_count() or 1)
    outcomes: dict[int, Outcome] = {}
    running: dict[int, _Child] = {}
    waiting = list(enumerate(calls))[::-1]
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                number, call = waiting.pop()
                running[number] = _Child(call)
            for number, child in list(running.items()):
                if child.over():
                    outcomes[number] = child.outcome()
                    running.pop(number).end()
            time.sleep(_POLL)
    finally:
        for child in running.values():
            child.end()
    return [outcomes[number] for number in range(len(calls))]


class _Child:
    """One running worker. Its stdin stays open as a lifeline: when this process is gone, the worker ends itself."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.folder = Path(tempfile.mkdtemp(prefix="torchdevlint-"))
        self.answer = self.folder / "answer.json"
        (self.folder / "work").mkdir()
        self.tail = b""
        self.timed_out = False
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "torchdevlint.runtime.worker"],
                cwd=self.folder / "work",
                env=child_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.deadline = time.monotonic() + call.limits.seconds
        self._send()

    def over(self) -> bool:
        if self.process.poll() is not None:
            return True
        self.timed_out = time.monotonic() > self.deadline
        return self.timed_out

    def outcome(self) -> Outcome:
        self._kill()
        if self.timed_out:
            detail = f"no end after {self.call.limits.seconds:g} s"
            return Outcome(Ended.TIMED_OUT, detail=detail, output=self._output())
        try:
            if self.answer.stat().st_size > LARGEST_ANSWER:
                return Outcome(Ended.DIED, detail="its answer was too large", output=self._output())
            data = json.loads(self.answer.read_text("utf-8"))
        except (OSError, ValueError):
            return Outcome(Ended.DIED, detail=_death(self.process.returncode), output=self._output())
        return Outcome.from_json(data, self._output())

    def end(self) -> None:
        self._kill()
        if self.process.stdin is not None:
            self.process.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _send(self) -> None:
        request = {**self.call.to_json(), "answer": str(self.answer)}
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it died at once: its exit status and output say why

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            while piece := os.read(stream.fileno(), 1 << 16):
                self.tail = (self.tail + piece)[-TAIL:]

    def _output(self) -> str:
        self.reader.join(timeout=1)
        return self.tail.decode("utf-8", "replace")

    def _kill(self) -> None:
        """The whole process group, also when the worker itself has ended: it may have started others."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        elif self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def child_environment() -> dict[str, str]:
    """This process's, with its import path, also for a child that starts elsewhere, and one thread for an operation."""
    paths = dict.fromkeys(os.path.abspath(path) for path in sys.path)  # noqa: PTH100 (resolve follows links)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }


def _death(status: int) -> str:
    if status >= 0:
        return f"it ended with exit status {status} and without an answer"
    try:
        return f"it was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"it was killed by signal {-status}"
