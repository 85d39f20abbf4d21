"""Keeps what is executed away from the network, and from all files outside of the harness's own temporary folder.

An audit hook (PEP 578) sees what Python code opens, removes and connects to. It is a fence for programs that mean no
harm: code in C, and what a started program does, does not pass through it. Programs cannot be started at all.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

CHANGES = frozenset(
    "os.mkdir os.remove os.rename os.rmdir os.link os.symlink os.truncate os.chmod os.chown os.utime shutil.rmtree"
    " shutil.move".split()
)
STARTS = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn"})
REACHES = frozenset({"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"})
FOLDERS = ("HOME", "TORCH_HOME", "HF_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "MPLCONFIGDIR")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def keep_away(folder: Path) -> None:
    """From now on, and in all forks: no network, no other programs, and nothing is changed but below `folder`."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    os.environ.update(dict.fromkeys(FOLDERS, str(home)), HF_HUB_OFFLINE="1", NUMBA_DISABLE_CACHING="1")
    allowed = (os.path.realpath(folder) + os.sep, "/dev/null/", "/proc/self/")

    def is_allowed(path: Any) -> bool:
        if isinstance(path, int):
            return True
        try:
            real = os.path.realpath(os.fsdecode(path))
        except (TypeError, ValueError):
            return True
        return f"{real}{os.sep}".startswith(allowed)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(flags & _WRITES)
            if writes and not is_allowed(path):
                raise PermissionError(f"torchdevlint hunt: nothing is written outside of its folder: {path}")
        elif event in REACHES:
            if event == "socket.connect" and not isinstance(arguments[1], tuple):
                return  # a socket of this machine's own
            raise OSError("torchdevlint hunt: there is no network")
        elif event in STARTS:
            raise PermissionError("torchdevlint hunt: no programs are started")
        elif event in CHANGES and not all(is_allowed(each) for each in arguments[:2] if not isinstance(each, int)):
            raise PermissionError(f"torchdevlint hunt: nothing is changed outside of its folder: {arguments[0]}")

    tempfile.tempdir = str(folder)
    sys.addaudithook(hook)
