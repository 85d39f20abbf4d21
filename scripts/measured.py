"""Run one child process and say what it cost: wall and CPU seconds, peak memory. POSIX only."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PEAK_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in one unit of `ru_maxrss`."""


@dataclass(frozen=True)
class Finished:
    """A process that has ended.

    `wall` and `cpu` (user + system, of the process and of every descendant it waited for) are seconds; `peak` is the
    resident size in bytes of the largest single process among them.
    """

    returncode: int
    stdout: str
    stderr: str
    wall: float
    cpu: float
    peak: int


def run(command: Sequence[str], cwd: Path | None = None, extra_env: Mapping[str, str] | None = None) -> Finished:
    """Run `command` to its end with empty standard input; output goes through files, so that no pipe can stall it."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd, env={**os.environ, **(extra_env or {})}
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Finished(
            returncode=process.returncode,
            stdout=out.read().decode("utf-8", "replace"),
            stderr=err.read().decode("utf-8", "replace"),
            wall=wall,
            cpu=usage.ru_utime + usage.ru_stime,
            peak=usage.ru_maxrss * PEAK_UNIT,
        )
