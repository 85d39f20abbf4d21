"""A process that imports torch once and runs each program it is sent in a fork of itself.

It reads one JSON object a line, ``{"source": ..., "device": ...}``, and answers with one,
``{"outcome": "ok" | "raises" | "accelerator", "text": ...}``. The device ``?`` asks which accelerator there is, and is
answered with their number as well, ``"count"``.
The parent never touches CUDA, so that each program is the first to do so. With a number as its argument, the process
and so every program has that many simulated accelerators.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import tempfile
import traceback
from contextlib import suppress

LIMIT_S = 60


def run_program(source: str, device: str) -> dict[str, str]:
    """Calls the program's ``main(device)`` in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        namespace = {"__name__": "case"}
        try:
            exec(compile(source, "case.py", "exec"), namespace)
            namespace["main"](device)
        except BaseException as error:  # noqa: BLE001 -- whatever a program does is its outcome
            return {"outcome": "raises", "text": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        finally:
            os.chdir("/")
    return {"outcome": "ok", "text": ""}


def accelerator() -> dict[str, str]:
    import torch

    there = torch.accelerator.is_available()
    name = str(torch.accelerator.current_accelerator()) if there else ""
    return {"outcome": "accelerator", "text": name, "count": str(torch.accelerator.device_count())}


def in_fork(request: dict[str, str]) -> str:
    """One line of JSON, from a child that lives no longer than `LIMIT_S` seconds."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        os.dup2(2, 1)
        signal.alarm(LIMIT_S)
        device = request["device"]
        answer = accelerator() if device == "?" else run_program(request["source"], device)
        with os.fdopen(write_end, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        answer_text = pipe.read()
    _, status = os.waitpid(child, 0)
    return answer_text or json.dumps({"outcome": "raises", "text": f"the process died with status {status}"})


def main() -> None:
    import torch  # noqa: F401 -- once, for all programs

    with suppress(ImportError):  # what optimizers and `torch.compile` import when they are first used
        importlib.import_module("torch._inductor.compile_fx")
    if len(sys.argv) > 1:
        from torchdevlint.runtime.simulated import install

        install(int(sys.argv[1]))
    for line in sys.stdin:
        print(in_fork(json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
