"""The child process: does what one request says and writes one answer. Run by `child` as ``-m``, never imported by it.

The request is the first line of stdin. Stdin is then a lifeline: when it closes, the parent is gone and this process
ends itself. The program that is executed gets an empty stdin of its own. The children of `execute.serve`, which have
limits and a lifeline of their own, share `answered`.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import linecache
import os
import shutil
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

HIDDEN = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
"""The environment in which a process that has not used a CUDA or ROCm device yet finds none."""
LONGEST_TEXT = 20_000
LONGEST_VALUE = 200


def main() -> None:
    lifeline = os.dup(0)
    request = _request(lifeline)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    answer_file = Path(request["answer"])
    threading.Thread(target=_end_with_parent, args=(lifeline, answer_file.parent), daemon=True).start()
    faulthandler.enable()
    _limit(request["memory"])
    answer_file.write_text(json.dumps(answered(request)), "utf-8")
    sys.stdout.flush()
    os._exit(0)  # not through exit handlers and threads of what was executed


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """Do in this process what a `Call` says; the fields of its `Outcome` that a process can tell of itself."""
    answer: dict[str, Any] = {"ended": "returned", "value": None, "exception": [], "message": "", "traceback": ""}
    try:
        return {**answer, "value": _do(request)}
    except BaseException as error:  # noqa: BLE001 (SystemExit and KeyboardInterrupt are answers as well)
        return {**answer, **_describe(error)}


def _do(request: dict[str, Any]) -> Any:
    if request["hide"]:
        os.environ.update(HIDDEN)
    if request["do"] == "backends":
        from torchdevlint.runtime import backends

        return backends.to_json(backends.discover())
    return _plain(_call(request))


def _call(request: dict[str, Any]) -> Any:
    if request["simulate"]:
        from torchdevlint.runtime.simulated import install

        install(request["simulate"], lasts=True)
    name, source = request["name"], request["source"]
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "probe", "__file__": name}
    exec(compile(source, name, "exec"), namespace)  # noqa: S102 (this is what the process is for)
    return namespace[request["function"]](_device(request["device"]))


def _device(name: str | None) -> Any:
    if name is None:
        return None
    import torch

    return torch.device(name)


def _plain(value: Any) -> Any:
    """What was observed, as JSON: a dict of plain values, anything else by its `repr`."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def _describe(error: BaseException) -> dict[str, Any]:
    """The exception, with a traceback that starts in the program and not in this module."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    lines = traceback.format_exception(type(error), error, frames)
    return {
        "ended": "raised",
        "exception": [kind.__name__ for kind in type(error).__mro__],
        "message": str(error)[:LONGEST_TEXT],
        "traceback": "".join(lines)[-LONGEST_TEXT:],
    }


def _request(stream: int) -> dict[str, Any]:
    """The first line of `stream`, without reading beyond it."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(stream, 1 << 16)
        if not piece:
            os._exit(2)
        line += piece
    request: dict[str, Any] = json.loads(line)
    return request


def _end_with_parent(stream: int, folder: Path) -> None:
    """Wait until the parent is gone, then clear up in its place."""
    while os.read(stream, 1):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(2)


def _limit(memory: int | None) -> None:
    """No core dumps, and at most `memory` bytes of address space, where the system has such limits."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if memory is None:
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS has the constant and refuses the limit
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


if __name__ == "__main__":
    main()
