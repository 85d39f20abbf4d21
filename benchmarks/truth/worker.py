"""The process that runs cases: it imports torch once, touches no device itself, and forks a child for every batch.

It reads one JSON object from stdin (``backend``, ``at_once``, ``seconds``, ``cases``) and writes JSON lines: first the
machine, then an observation for every case. A child that dies or hangs costs the case it was at, and the rest of its
batch gets another child. Not for Windows, which has no fork.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import sys
import tempfile
import time
import warnings
from collections import deque
from dataclasses import dataclass
from typing import Any

from benchmarks.truth.case import Case

REAL, SIMULATED, CONTROL = "real", "simulated", "control"
BATCH = 40
_MACHINE = Case("machine", "")


@dataclass(slots=True)
class _Child:
    pid: int
    pipe: int
    cases: list[Case]
    deadline: float
    at: Case | None = None
    rest: bytes = b""
    timed_out: bool = False


def main() -> None:
    import numpy  # noqa: F401 (so that children need not)
    import torch
    import torch.utils.data

    request = json.loads(sys.stdin.readline())
    torch.set_num_threads(1)
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers, open(os.devnull, "r+b") as nothing:  # noqa: PTH123
        for stream in (0, 1):
            os.dup2(nothing.fileno(), stream)
        if request["backend"] == SIMULATED:
            _warm()
        with tempfile.TemporaryDirectory(prefix="torchdevlint-truth-") as folder:
            os.chdir(folder)
            _serve(request, answers)


def _warm() -> None:
    """Pay once for what the first simulation of a process imports, instead of in every child."""
    from torchdevlint.runtime.simulated import simulate

    with simulate(count=0):
        pass


def _serve(request: dict[str, Any], answers: Any) -> None:
    cases = [case for row in request["cases"] if (case := _case(row)).since <= _release()]
    waiting = deque([[_MACHINE], *_batches(cases)])
    running: dict[int, _Child] = {}
    selector = selectors.DefaultSelector()
    while waiting or running:
        while waiting and len(running) < request["at_once"]:
            child = _fork(waiting.popleft(), request["backend"], request["seconds"], answers)
            running[child.pipe] = child
            selector.register(child.pipe, selectors.EVENT_READ)
        for key, _ in selector.select(timeout=0.5):
            child = running[key.fd]
            piece = os.read(child.pipe, 1 << 16)
            if piece:
                _receive(child, piece, answers, request["seconds"])
                continue
            selector.unregister(child.pipe)
            del running[child.pipe]
            _bury(child, answers, waiting)
        for child in running.values():
            if time.monotonic() > child.deadline and not child.timed_out:
                child.timed_out = True
                _kill(child.pid)


def _batches(cases: list[Case]) -> list[list[Case]]:
    """Batches of cases that may share a process, the single ones last: they fill the gaps."""
    batches = []
    for devices in sorted({case.devices for case in cases}):
        shared = [case for case in cases if case.devices == devices and not case.alone]
        batches += [shared[start : start + BATCH] for start in range(0, len(shared), BATCH)]
    return batches + [[case] for case in cases if case.alone]


def _fork(cases: list[Case], backend: str, seconds: float, answers: Any) -> _Child:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return _Child(pid, reading, cases, time.monotonic() + seconds)
    status = 1
    try:
        os.setpgid(0, 0)
        os.close(reading)
        os.close(answers.fileno())  # or what a program leaves running would keep the reader waiting
        os.dup2(0, 2)  # of what programs and libraries print nothing is wanted
        with os.fdopen(writing, "w", encoding="utf-8") as pipe:
            _run(cases, backend, pipe)
        status = 0
    finally:
        os._exit(status)


def _run(cases: list[Case], backend: str, pipe: Any) -> None:
    from benchmarks.truth.observe import observe

    def tell(**answer: Any) -> None:
        pipe.write(json.dumps(answer) + "\n")
        pipe.flush()

    warnings.simplefilter("ignore")
    if cases[0] is _MACHINE:
        tell(machine=_machine(backend))
        return
    first, second = ("cpu", "cpu") if backend == CONTROL else ("cuda:0", "cuda:1")
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(_devices(backend, cases[0].devices))
        except Exception as error:  # noqa: BLE001 (the backend itself does not start)
            tell(broken=f"{type(error).__name__}: {error}")
            return
        for case in cases:
            tell(start=case.id)
            tell(id=case.id, **observe(case, first, second))
            if backend == REAL and not _alive():
                return


@contextlib.contextmanager
def _devices(backend: str, count: int) -> Any:
    """Let this process see `count` accelerators, whatever the machine has."""
    if backend == SIMULATED:
        from torchdevlint.runtime.simulated import simulate

        with simulate(count=count):
            yield
        return
    if backend == REAL:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        ordinals = visible.split(",") if visible else [str(number) for number in range(count)]
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(ordinals[:count])
    yield


def _alive() -> bool:
    """False if a case has left this process's device unusable."""
    import torch

    try:
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


def _machine(backend: str) -> dict[str, Any]:
    import torch

    facts: dict[str, Any] = {"torch": torch.__version__, "cuda": torch.version.cuda, "hip": torch.version.hip}
    if backend == REAL:
        facts["devices"] = torch.cuda.device_count() if torch.cuda.is_available() else 0
        facts["gpu"] = torch.cuda.get_device_name(0) if facts["devices"] else ""
    return facts


def _receive(child: _Child, piece: bytes, answers: Any, seconds: float) -> None:
    *lines, child.rest = (child.rest + piece).split(b"\n")
    for line in lines:
        answer = json.loads(line)
        if "broken" in answer:
            raise RuntimeError(f"the backend does not start: {answer['broken']}")
        if "start" in answer:
            child.deadline = time.monotonic() + seconds
            child.at = next(case for case in child.cases if case.id == answer["start"])
            continue
        if child.at is not None:
            child.cases = [case for case in child.cases if case.id != child.at.id]
            child.at = None
        else:
            child.cases = []
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _bury(child: _Child, answers: Any, waiting: deque[list[Case]]) -> None:
    os.close(child.pipe)
    status = _wait(child.pid)
    left = child.cases
    if child.at is None and left and status:
        child.at = left[0]  # it died before its first case could start
    if child.at is not None:
        detail = "no end" if child.timed_out else f"ended by signal {status & 0x7F}" if status & 0x7F else "ended"
        answers.write(json.dumps({"id": child.at.id, "outcome": "died", "detail": detail}) + "\n")
        answers.flush()
        left = [case for case in left if case.id != child.at.id]
    if left:
        waiting.append(left)


def _wait(pid: int) -> int:
    """The wait status of a child that has closed its pipe; then whatever it has left running is ended."""
    until = time.monotonic() + 5
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            _kill(pid)
            return status
        if time.monotonic() > until:
            _kill(pid)
            return os.waitpid(pid, 0)[1]
        time.sleep(0.002)


def _kill(pid: int) -> None:
    """The child, and what it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _case(row: dict[str, Any]) -> Case:
    return Case(row["id"], row["program"], row["devices"], row["alone"], since=tuple(row["since"]))


def _release() -> tuple[int, ...]:
    import torch

    return tuple(int(number) for number in torch.__version__.split(".")[:2])


if __name__ == "__main__":
    main()
