"""The parent's side of `runtime.execute.serve`: starts the process, asks it, and starts another when it is gone."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import selectors
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from torchdevlint.runtime.child import Call, Ended, Outcome, child_environment
from torchdevlint.runtime.verify.forked import Forked, ForkServer, can_fork

Process = Union["subprocess.Popen[bytes]", Forked]

GRACE = 20.0
"""Seconds that a server gets beyond the limit of a request; it ends the execution itself."""
FIRST = 60.0
"""Seconds that it may take to import torch."""
ENDED_FROM_INSIDE = "the process that executes was ended from inside"
SILENT = "the process that executes gave no answer"
STOPPED = "the run was stopped"


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request: ``returned`` a `value`, ``raised`` in the harness, ``died``, or ``timed out``."""

    ended: str
    value: Any = None
    detail: str = ""
    traceback: str = ""
    output: str = ""


class Server:
    """One process that executes, one request at a time. A context manager.

    Another thread may leave the context while one asks: the one that asks then gets its answer at once, and no process
    is started again.
    """

    def __init__(self, prepared: dict[str, Any] | None = None, above: ForkServer | None = None) -> None:
        """A server for `hunt` is `prepared`: it becomes a machine and imports a project before the first request.

        Its process is a fork of the one `above`, where the system allows it; else it imports torch for itself.
        """
        self.prepared = prepared
        self.above = above if can_fork() else None
        self.process: Process | None = None
        self.folder: Path | None = None
        self.rest = b""
        self.closed = False
        self.shown: dict[tuple[str, str], Any] = {}
        """By the path and text of a file, the calls that it shows of its own use (`runtime.verify.ladder`)."""
        self.changing, self.asking = threading.RLock(), threading.RLock()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self.closed = True
        self.stop()

    def ask(self, request: dict[str, Any]) -> Answer:
        """The answer to one request; whatever happens in the process, there is one."""
        with self.asking:
            try:
                process, fresh = self._running()
                if process is None:
                    return Answer("died", detail=STOPPED)
                token = secrets.token_hex(8)
                assert process.stdin is not None
                process.stdin.write(json.dumps({**request, "token": token}).encode() + b"\n")
                process.stdin.flush()
                line = self._line(process, request["seconds"] + GRACE + (FIRST if fresh else 0.0), token.encode())
                answer = Answer(**json.loads(line))
            except (OSError, EOFError, TimeoutError, ValueError, TypeError) as error:
                detail = SILENT if isinstance(error, TimeoutError) else ENDED_FROM_INSIDE
                if self.process is None:
                    detail = f"the process that executes could not be started: {error}"
                self.stop()
                return Answer("died", detail=STOPPED if self.closed else detail)
            if not hasattr(os, "fork"):
                self.stop()
            return answer

    def run(self, call: Call) -> Outcome:
        """What becomes of a call of a program's function."""
        answer = self.ask({**call.to_json(), "paths": []})
        if answer.ended == "returned":
            return Outcome.from_json(answer.value, answer.output)
        ended = Ended.TIMED_OUT if answer.ended == "timed out" else Ended.DIED
        return Outcome(ended, detail=answer.detail, output=answer.output)

    def stop(self) -> None:
        """End the process and what it has started. Its end wakes a thread that waits for an answer."""
        with self.changing:
            process, self.process = self.process, None
            folder, self.folder = self.folder, None
        if process is not None:
            self._end(process)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _end(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        with self.asking:  # not while it is waited for
            process.stdout.close()

    def _running(self) -> tuple[Process | None, bool]:
        """The process and whether it is a new one; none after the end of the context."""
        if self.process is not None and self.process.poll() is not None:
            self.stop()
        with self.changing:
            if self.closed:
                return None, False
            if self.process is not None:
                return self.process, False
            self.rest = b""
            self.folder = Path(tempfile.mkdtemp(prefix="torchdevlint-"))
            self.process = self._start(self.folder)
            return self.process, True

    def _start(self, folder: Path) -> Process:
        prepared = None if self.prepared is None else str(folder / "prepared.json")
        if prepared is not None:
            Path(prepared).write_text(json.dumps(self.prepared), "utf-8")
        if self.above is not None:
            return self.above.start(folder, prepared)
        arguments = [str(folder), *([] if prepared is None else [prepared])]
        return subprocess.Popen(
            [sys.executable, "-m", "torchdevlint.runtime.execute.serve", *arguments],
            cwd=folder,  # `-m` puts it on the import path, where a module of the user could hide one of Python's
            env=child_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _line(self, process: Process, seconds: float, token: bytes) -> bytes:
        """The next line of the process's answers that has the token. Raises EOFError or TimeoutError."""
        assert process.stdout is not None
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                line, end, rest = self.rest.partition(b"\n")
                if end:
                    self.rest = rest
                    if line.startswith(token):
                        return line.removeprefix(token)
                    continue
                if not selector.select(max(deadline - time.monotonic(), 0)):
                    raise TimeoutError
                piece = os.read(process.stdout.fileno(), 1 << 16)
                if not piece:
                    raise EOFError
                self.rest += piece
