"""The parent's side of `runtime.execute.serve`: starts the process, asks it, and starts another when it is gone."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from torchdevlint.runtime.child import hidden_devices, import_paths

GRACE = 20.0
"""Seconds that a server gets beyond the limit of a request; it ends the execution itself."""
FIRST = 60.0
"""Seconds that it may take to import torch."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request: ``returned`` a `value`, ``raised`` in the harness, ``died``, or ``timed out``."""

    ended: str
    value: Any = None
    detail: str = ""
    traceback: str = ""
    output: str = ""


class Server:
    """One process that executes, one request at a time. A context manager."""

    def __init__(self, hide: bool = False) -> None:
        self.hide = hide
        self.process: subprocess.Popen[bytes] | None = None
        self.rest = b""

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self.stop()

    def ask(self, request: dict[str, Any]) -> Answer:
        """The answer to one request; whatever happens in the process, there is one."""
        fresh = self.process is None
        process = self.process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = self._line(process, request["seconds"] + GRACE + (FIRST if fresh else 0.0))
        except (BrokenPipeError, OSError):
            line = None
        if line is None:
            self.stop()
            return Answer("died", detail="the process that executes was ended from inside")
        if not hasattr(os, "fork"):
            self.stop()
        return Answer(**json.loads(line))

    def stop(self) -> None:
        process, self.process, self.rest = self.process, None, b""
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def _start(self) -> subprocess.Popen[bytes]:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "torchdevlint.runtime.execute.serve"],
            env={
                **os.environ,
                "PYTHONPATH": import_paths(),
                "PYTHONDONTWRITEBYTECODE": "1",
                "OMP_NUM_THREADS": "1",
                **(hidden_devices() if self.hide else {}),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self.process

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> bytes | None:
        """The next line of the process's answers; None if it ends or takes too long."""
        assert process.stdout is not None
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.rest:
                if not selector.select(max(deadline - time.monotonic(), 0)):
                    return None
                piece = os.read(process.stdout.fileno(), 1 << 16)
                if not piece:
                    return None
                self.rest += piece
        line, _, self.rest = self.rest.partition(b"\n")
        return line
