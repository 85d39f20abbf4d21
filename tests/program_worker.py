"""A process that imports torch once and runs the programs it is sent in forks of itself.

It reads one JSON object a line, ``{"sources": [...], "device": ...}``, and answers with one list: for each program
``{"outcome": "ok" | "raises" | "accelerator", "text": ...}``. The programs of one request run in one fork, one after
the other; where one ends the fork, the rest run in the next. The device ``?`` asks which accelerator there is, and is
answered with their number as well, ``"count"``. An empty line ends it.
The parent never touches CUDA, so that the first program of a request is the first to do so. With a number as its
argument, the process and so every program has that many simulated accelerators.
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
END = "\n"


def run_program(source: str, device: str) -> dict[str, str]:
    """Calls the program's ``main(device)`` in a temporary folder, and takes back what it may have set for others."""
    import torch

    environment, kind = dict(os.environ), torch.get_default_dtype()
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
            os.environ.clear()
            os.environ.update(environment)
            torch.set_default_device(None)
            torch.set_default_dtype(kind)
    return {"outcome": "ok", "text": ""}


def accelerator() -> dict[str, str]:
    import torch

    there = torch.accelerator.is_available()
    name = str(torch.accelerator.current_accelerator()) if there else ""
    return {"outcome": "accelerator", "text": name, "count": str(torch.accelerator.device_count())}


def in_forks(sources: list[str], device: str) -> list[dict[str, str]]:
    """What each program does; together in a fork, until one ends it."""
    answers: list[dict[str, str]] = []
    while len(answers) < len(sources):
        told, status = _fork(sources[len(answers) :], device)
        answers += told
        if len(answers) < len(sources):
            answers.append({"outcome": "raises", "text": f"the process died with status {status}"})
    return answers


def _fork(sources: list[str], device: str) -> tuple[list[dict[str, str]], int]:
    """The answers of a child, each of whose programs takes no longer than `LIMIT_S` seconds, and how it ended."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        os.dup2(2, 1)
        with os.fdopen(write_end, "w") as pipe:
            for source in sources:
                signal.alarm(LIMIT_S)
                answer = accelerator() if device == "?" else run_program(source, device)
                print(json.dumps(answer), file=pipe, flush=True)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        answers = [json.loads(line) for line in pipe]
    return answers, os.waitpid(child, 0)[1]


def main() -> None:
    import torch  # once, for all programs

    if not torch.backends.cuda.is_built():  # else it asks the driver, and no fork can use CUDA after that
        with suppress(ImportError):  # what optimizers and `torch.compile` import when they are first used
            importlib.import_module("torch._inductor.compile_fx")
    if len(sys.argv) > 1:
        from torchdevlint.runtime.simulated import install

        install(int(sys.argv[1]))
    while line := sys.stdin.readline().removesuffix(END):
        print(json.dumps(in_forks(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
