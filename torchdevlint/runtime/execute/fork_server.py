"""The process above the servers of a run (Linux): it imports torch once, and every server is a fork of it.

It reads from the socket whose number is its first argument: where a server is to work, with its stdin and stdout as
open files. It answers with the new process as an open file (`os.pidfd_open`), and ends when the socket is closed.

No device is touched here, no simulation is left installed, and no code of a user runs, so that a fork is what a new
process would be that has imported torch and nothing else: it becomes a machine, and imports a project, after the fork.
There is one thread, as nothing is computed. What forks have in common, and new processes have not, is the seed of
Python's hashes, by which sets of words are ordered, and the state of `random` and `numpy.random` at their start.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import sys
from pathlib import Path

from torchdevlint.runtime.execute import serve

LONGEST = 1 << 16


def main() -> None:
    """Fork servers until the socket is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to answer
    del sys.path[0]  # by `-m`
    connection = socket.socket(fileno=int(sys.argv[1]))
    serve.warm()
    gc.freeze()
    while True:
        data, streams, *_ = socket.recv_fds(connection, LONGEST, 2)
        _reap()
        if not data:
            os._exit(0)
        request = json.loads(data)
        pid = os.fork()
        if not pid:
            _become(request, connection, streams)
        handle = os.pidfd_open(pid)  # before anybody waits for it, so that it is this process and no other
        socket.send_fds(connection, [str(pid).encode()], [handle])
        for one in (*streams, handle):
            os.close(one)


def _become(request: dict[str, str], connection: socket.socket, streams: list[int]) -> None:
    """Be the server that was asked for, as if this process had been started with nothing else."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        connection.close()
        os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        folder = Path(request["folder"])
        os.chdir(folder)
        serve.serve(folder, serve.begin(folder), request["prepared"])
    finally:
        os._exit(1)


def _reap() -> None:
    """Forget the servers that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    main()
