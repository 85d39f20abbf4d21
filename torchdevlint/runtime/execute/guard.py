"""Nothing is left running: the process above the server, and the ways to find and end what a child has started.

On Linux the process that was started forks the server and becomes its *guard*; it imports no torch and runs no code of
a user. When the server is gone, because a child has killed it, or when stdin is closed, because the parent is gone, the
guard ends all that is left, and removes the folder. Elsewhere only the process group of a child can be found.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import sys
import time
from pathlib import Path

PATIENCE = 5.0
"""Seconds to try to end what is left."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def fork_below_a_guard(folder: Path) -> None:
    """Go on in a fork. This process waits until that has ended, or is held, or stdin closes, and clears up."""
    adopt_orphans()
    guard = os.getpid()
    server = os.fork()
    if not server:
        end_with(guard)
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    parent = select.poll()
    parent.register(0, 0)  # that the other end is closed is told unasked
    while not parent.poll(50):
        if os.waitpid(server, os.WNOHANG | os.WUNTRACED)[0]:
            break
    end_descendants()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def end_with(parent: int) -> None:
    """Be killed as soon as `parent` is gone (Linux)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(2)


def adopt_orphans() -> None:
    """Processes whose parent ends become children of this one (Linux), so that none is lost."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_descendants() -> None:
    """Kill every child that is left, until there is none; what they had started has become ours."""
    deadline = time.monotonic() + PATIENCE
    while (left := _children()) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            _reap(pid)


def _reap(pid: int) -> None:
    """Wait a moment for the end of a killed child; one of another user cannot be killed, and is left."""
    with contextlib.suppress(ChildProcessError):
        for _ in range(50):
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            time.sleep(0.002)


def _children() -> list[int]:
    if sys.platform != "linux":
        return []
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            if int(file.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.append(int(file.parent.name))
    return found
