"""Samples are checked in a child process, which may die or hang without ending the run."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from .judged import Outcome, Sample, examine

GRACE = 10.0
"""Seconds after the limit at which a child is killed that did not end itself, as inside C code that holds the GIL."""


class Child:
    """A process that checks samples, one after another, and is replaced when it dies.

    `limit` is in seconds for one sample; `hash_seed` decides the order of sets in the child.
    """

    def __init__(self, limit: float, hash_seed: int = 0) -> None:
        self.limit = limit
        self._hash_seed = hash_seed
        self._traces = Path(tempfile.mkdtemp(prefix="robustness-")) / "trace"
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None

    def examine(self, sample: Sample) -> Outcome:
        """The outcome of one sample; that the child died or took too long is a fault."""
        if self._process is None:
            self._start()
        assert self._connection is not None
        self._connection.send(sample)
        try:
            if self._connection.poll(self.limit + GRACE):
                outcome: Outcome = self._connection.recv()
                return outcome
        except (EOFError, OSError):
            pass
        self.close()
        return Outcome(sample.name, sample.data.count(b"\n") + 1, faults=(self._why(),))

    def close(self) -> None:
        if self._process is not None and self._connection is not None:
            self._connection.close()
            self._process.join(1)
            self._process.kill()
            self._process.join()
        self._process = self._connection = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, far = context.Pipe()
        self._process = context.Process(target=_serve, args=(far, self._traces, self.limit), daemon=True)
        with _environment(PYTHONHASHSEED=str(self._hash_seed)):
            self._process.start()
        far.close()

    def _why(self) -> str:
        """What the child wrote when it died: the frames nearest to where it was."""
        trace = self._traces.read_text("utf-8", "replace") if self._traces.exists() else ""
        frames = [line.strip().replace("File ", "") for line in trace.splitlines() if line.lstrip().startswith("File")]
        where = " < ".join(frame.rpartition("/")[2] for frame in frames[:6])
        what = f"took more than {self.limit:g} s" if trace.startswith("Timeout") or not trace else "died"
        return f"the process {what}: {where}"


def _serve(connection: Connection, traces: Path, limit: float) -> None:
    with traces.open("w", encoding="utf-8") as file:
        faulthandler.enable(file)
        while True:
            try:
                sample: Sample = connection.recv()
            except EOFError:
                return
            faulthandler.dump_traceback_later(limit, exit=True, file=file)
            outcome = examine(sample)
            faulthandler.cancel_dump_traceback_later()
            connection.send(outcome)


def peak_of_children() -> int:
    """The largest resident size of a child that has ended, in MiB."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
