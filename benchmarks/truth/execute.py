"""Run cases on a backend, in a process apart (`worker`), and hand back what was observed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.truth.case import Case
from benchmarks.truth.worker import CONTROL, REAL, SIMULATED

__all__ = ["CONTROL", "REAL", "SIMULATED", "Run", "run"]

SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Run:
    """`machine` says on what (torch, cuda, gpu, devices); `observed` what each case did, by its id."""

    machine: dict[str, Any]
    observed: dict[str, dict[str, Any]]


def run(cases: Iterable[Case], backend: str, at_once: int | None = None, seconds: float = SECONDS) -> Run:
    """Every case of `cases` that the installed PyTorch is new enough for, on `backend`, each for at most `seconds`.

    Raises RuntimeError where there is no fork, and if the worker as a whole fails.
    """
    if not hasattr(os, "fork"):
        raise RuntimeError("the truth table needs os.fork, which this system lacks")
    names = ("id", "program", "devices", "alone", "since")
    rows = [{name: getattr(case, name) for name in names} for case in cases]
    request = {
        "backend": backend,
        "at_once": at_once or min(4, os.cpu_count() or 1),
        "seconds": seconds,
        "cases": rows,
    }
    paths = [os.path.abspath(path) for path in sys.path]  # noqa: PTH100 (Path.resolve follows links)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.truth.worker"],
        input=json.dumps(request) + "\n",
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
        check=False,
    )
    machine: dict[str, Any] = {}
    observed: dict[str, dict[str, Any]] = {}
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        if "machine" in answer:
            machine = answer["machine"]
        else:
            observed[answer.pop("id")] = answer
    if done.returncode or not machine:
        raise RuntimeError(f"the worker of the truth table ended with exit status {done.returncode}")
    return Run(machine, observed)
