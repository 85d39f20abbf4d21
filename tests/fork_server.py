"""The process above the forks: it imports torch once, and starts each command line of Python in a fork of itself.

Its parent is the process of the tests (`tests.forked`), which sends requests through the socket whose number is the
first argument: ``start`` a command line, with its three streams and what else it is given as open files, ``wait`` for
one, or ``end``. It never touches an accelerator, and no simulation is installed in it, so that each program is the
first.

A process that a fork starts is a fork as well, unless the fork has imported torch itself: `torchdevlint run` starts the
program so, and `torchdevlint verify` the process that executes.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import itertools
import json
import os
import pkgutil
import signal
import socket
import struct
import subprocess
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from tests import as_python

FIRST_USED = ("torch._inductor.compile_fx", "torch._decomp.decompositions_for_jvp", "torch.utils.data", "numpy")
"""What optimizers, `torch.compile`, simulations and loaders import when they are first used.

Where torch is built with CUDA, some of it asks the driver, and no fork can use CUDA after that.
"""
NOT_IMPORTED = ("torchdevlint.integrations", "torchdevlint.runtime.start.bootstrap")
"""What is about the moment at which it is imported, or needs what is not installed everywhere."""
HEAD = struct.Struct("!I")
MOST_FILES = 8
"""Open files that a process can be given, its three streams among them."""

execute_child = subprocess.Popen._execute_child  # type: ignore[attr-defined]
_signature = inspect.signature(execute_child)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = socket.socket(fileno=int(sys.argv[1]))
    _import_all()
    as_python.hide()
    gc.freeze()
    while head := _received(connection):
        request, streams = head
        if request["do"] == "end":
            return
        if request["do"] == "wait":
            answer = _waited(request["pid"])
        else:
            answer = {"pid": fork(request, streams)}
            for stream in streams:
                os.close(stream)
        data = json.dumps(answer).encode()
        connection.sendall(HEAD.pack(len(data)) + data)


def fork(request: dict[str, Any], files: Sequence[int]) -> int:
    """Start ``python *arguments`` with these open files, which become those that it asks for; the process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        _become(request, files)
    except BaseException:  # noqa: BLE001 (nothing returns from here)
        traceback.print_exc()
    finally:
        os._exit(1)


def ordered(popen: subprocess.Popen[Any], *arguments: Any) -> tuple[dict[str, Any] | None, tuple[int, ...]]:
    """What a call of ``Popen._execute_child`` asks for, and its open files; None if no fork can stand for it."""
    given = _signature.bind(popen, *arguments).arguments
    kept = tuple(map(int, given["pass_fds"]))
    files = (
        0 if given["p2cread"] == -1 else given["p2cread"],
        1 if given["c2pwrite"] == -1 else given["c2pwrite"],
        2 if given["errwrite"] == -1 else given["errwrite"],
        *kept,
    )
    command = given["args"]
    if isinstance(command, (str, bytes, os.PathLike)) or given["shell"] or given["preexec_fn"]:
        return None, files
    name, *rest = map(os.fsdecode, command)
    env = {os.fsdecode(key): os.fsdecode(value) for key, value in (given["env"] or os.environ).items()}
    cwd = os.fsdecode(given["cwd"] or Path.cwd())
    if name != sys.executable or given["executable"] not in (None, name) or not as_python.can_be(rest, env, cwd):
        return None, files
    if len(files) > MOST_FILES:
        return None, files
    more = {"cwd": cwd, "env": env, "session": given["start_new_session"], "as": (0, 1, 2, *kept)}
    return {"do": "start", "arguments": rest, **more}, files


def _become(request: dict[str, Any], files: Sequence[int]) -> NoReturn:
    if request["session"]:
        os.setsid()
    _give(files, request["as"])
    os.chdir(request["cwd"])
    subprocess.Popen._execute_child = _execute_in_fork  # type: ignore[attr-defined]
    as_python.run(request["arguments"], request["env"])


def _give(files: Sequence[int], numbers: Sequence[int]) -> None:
    """Make these the only open files of this process, by these numbers."""
    import fcntl

    above = max(numbers) + 1
    copies = [fcntl.fcntl(file, fcntl.F_DUPFD, above) for file in files]
    for copy, number in zip(copies, numbers, strict=True):
        os.dup2(copy, number)
    ends = [*sorted(numbers), 1 << 12]
    for before, after in itertools.pairwise(ends):
        os.closerange(before + 1, after)


def _execute_in_fork(popen: subprocess.Popen[Any], *arguments: Any) -> None:
    request, files = ordered(popen, *arguments)
    if request is None or not as_python.torch_is_hidden():
        execute_child(popen, *arguments)
        return
    started(popen, fork(request, files), arguments)


def started(popen: Any, pid: int, arguments: tuple[Any, ...]) -> None:
    """What is left to do of ``Popen._execute_child`` when the process is there."""
    given = _signature.bind(popen, *arguments).arguments
    popen.pid, popen._child_created = pid, True
    names = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
    popen._close_pipe_fds(*(given[name] for name in names))


def _import_all() -> None:
    import torch

    for name in () if torch.backends.cuda.is_built() else FIRST_USED:
        with suppress(ImportError):
            importlib.import_module(name)
    import torchdevlint

    skipped: list[str] = []
    for module in pkgutil.walk_packages(torchdevlint.__path__, "torchdevlint.", onerror=skipped.append):
        if not module.name.startswith(NOT_IMPORTED) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def _received(connection: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    head, streams, _, _ = socket.recv_fds(connection, HEAD.size, MOST_FILES)
    if not head:
        return None
    (size,) = HEAD.unpack(head)
    data = b""
    while len(data) < size:
        data += connection.recv(size - len(data))
    return json.loads(data), streams


def _waited(pid: int) -> dict[str, int]:
    """The process id and its raw status if it has ended, else 0."""
    over, status = os.waitpid(pid, os.WNOHANG)
    return {"pid": over, "status": status}


if __name__ == "__main__":
    main()
