"""Fixtures that several test modules share."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests import forked, program_worker
from tests.casefile import Case

ROOT = Path(__file__).parent.parent
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
not_as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing keeps root from writing"
)

# The workers of pytest-xdist share the cores, and threads of torch that wait for each other in turn take most of them.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Byte code is kept, whatever the environment says: else each of the processes compiles the linter for itself.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Whoever starts the suite with `nohup` or in the background ignores these signals. A program that a test starts
# inherits that; a handler, unlike being ignored, ends with `exec`, so the suite lives on and programs have the default.
for _name in ("SIGINT", "SIGHUP"):
    if hasattr(signal, _name) and signal.getsignal(getattr(signal, _name)) is signal.SIG_IGN:
        signal.signal(getattr(signal, _name), lambda *_: None)

# No test fails because the machine is busy.
BUSY = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("whole", BUSY)
hypothesis.settings.register_profile("quick", BUSY, max_examples=25)

ACCELERATOR_FILES = ("/dev/nvidiactl", "/dev/nvhost-ctrl", "/dev/dxg", "/dev/kfd", "/dev/dri")
"""What drivers leave in the file system: NVIDIA's, those of its boards and of WSL, AMD's and Intel's."""

Program = Callable[[str, str], dict[str, str]]
"""Takes the source of a program with ``main(device)`` and a device, gives ``outcome`` and ``text``."""


HoldAll = Callable[[Iterable[Case], Callable[[Case], None]], None]


class Programs:
    """Runs programs with ``main(device)`` in forks of a process that has imported torch."""

    def __init__(self, ask: Callable[[tuple[str, ...], str], list[dict[str, str]]]) -> None:
        self._ask = ask
        self._together: dict[tuple[tuple[str, ...], str], dict[str, dict[str, str]]] = {}

    def __call__(self, source: str, device: str) -> dict[str, str]:
        """What one program does in a process of its own."""
        return self._ask((source,), device)[0]

    def among(self, sources: tuple[str, ...], right: Callable[[dict[str, str]], bool]) -> Program:
        """Runs a program in one process with all `sources`, and by itself only where that gives what is not right.

        A process for each costs more than what the programs do.
        """

        def run(source: str, device: str) -> dict[str, str]:
            key = sources, device
            if key not in self._together:
                self._together[key] = dict(zip(sources, self._ask(sources, device), strict=True))
            answer = self._together[key][source]
            return answer if right(answer) else self(source, device)

        return run


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--case", default="", metavar="TEXT", help="of the cases of rules, those with TEXT in their title")
    parser.addoption("--without-forks", action="store_true", help="start Python for every program (tests.forked)")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--without-forks"):
        forked.SERVER.wanted = False
    hypothesis.settings.load_profile("quick" if "not slow" in config.getoption("markexpr") else "whole")


def pytest_unconfigure() -> None:
    forked.SERVER.stop()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what would only be skipped: what needs an accelerator, or a library, where there surely is none."""
    may_be_there = sys.platform in ("darwin", "win32") or any(map(os.path.exists, ACCELERATOR_FILES))
    installed = cache(lambda name: find_spec(name) is not None)

    def can_run(item: pytest.Item) -> bool:
        library = item.get_closest_marker("library")
        if library is not None and not installed(library.args[0]):
            return False
        return may_be_there or item.get_closest_marker("accelerator") is None

    needing = [item for item in items if not can_run(item)]
    if needing:
        config.hook.pytest_deselected(items=needing)
        items[:] = [item for item in items if can_run(item)]


@pytest.fixture(scope="module", autouse=True)
def no_fork_is_left() -> Iterator[None]:
    """Fails where tests leave a fork of this process behind: it has all its files, so what they lead to never ends."""
    yield
    until = time.monotonic() + 10
    while left := forks_of_this_process():
        assert time.monotonic() < until, f"forks of the process of the tests are left: {left}"
        time.sleep(0.01)


def forks_of_this_process() -> list[int]:
    """Its children with its command line, which no program has that it has started; none where there is no /proc."""
    own = Path("/proc/self")
    children = [pid for thread in own.glob("task/*") for pid in _read(thread / "children").split()]
    return [int(pid) for pid in children if _read(Path("/proc", pid.decode(), "cmdline")) == _read(own / "cmdline")]


def _read(path: Path) -> bytes:
    """The file of a thread or process; nothing if that has ended meanwhile."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.fixture
def hold_all(request: pytest.FixtureRequest) -> HoldAll:
    """Holds many cases to one claim, and tells of each that fails; with ``--case``, only those that it names."""
    named = request.config.getoption("--case")

    def hold(cases: Iterable[Case], claim: Callable[[Case], None]) -> None:
        failed = []
        for case in cases:
            if named not in case.title:
                continue
            try:
                claim(case)
            except Exception:  # noqa: BLE001 (whatever it is, the others are tried and all of them told)
                failed.append(f"{case.file}:{case.row}: {case.title}\n{traceback.format_exc()}")
        if failed:
            pytest.fail("\n\n".join(failed), pytrace=False)

    return hold


def a_part(names: Iterable[Any], of: int = 3) -> list[Any]:
    """As parameters: one of so many in every run, the others where what is `slow` is run too. A tuple is several."""
    given = [name if isinstance(name, tuple) else (name,) for name in names]
    return [pytest.param(*each, marks=pytest.mark.slow if number % of else ()) for number, each in enumerate(given)]


def each_part(parts: int, group: str) -> pytest.MarkDecorator:
    """Tests that take the number of a `part`, of which the first is in every run.

    Those of a part are of one worker, since all ask for the same results.
    """
    params = [
        pytest.param(*one.values, marks=[*one.marks, pytest.mark.xdist_group(f"{group} {one.values[0]}")])
        for one in a_part(range(parts), of=parts)
    ]
    return pytest.mark.parametrize("part", params)


def python(
    *arguments: str, cwd: Path | None = None, stdin: str | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Runs this interpreter with `arguments`, colourless, with the repository importable."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd or ROOT,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        env={**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", **env},
    )


@pytest.fixture
def in_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process starts through `subprocess` starts in forks (see `tests.forked`)."""
    monkeypatch.setattr(subprocess, "Popen", forked.Popen)


@contextmanager
def program_runner(*arguments: str) -> Iterator[Programs]:
    """Runs programs with torch, each in a process of its own (see `tests.program_worker`)."""
    if not hasattr(os, "fork"):
        pytest.skip("programs are run in forks, which this system has not")
    if find_spec("torch") is None:
        pytest.skip("torch is not installed, and programs need it")
    worker = forked.Popen(
        [sys.executable, "-m", "tests.program_worker", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert worker.stdin is not None
    assert worker.stdout is not None

    def ask(sources: tuple[str, ...], device: str) -> list[dict[str, str]]:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(json.dumps({"sources": sources, "device": device}) + "\n")
        worker.stdin.flush()
        answers: list[dict[str, str]] = json.loads(worker.stdout.readline())
        return answers

    yield Programs(ask)
    with suppress(BrokenPipeError), worker.stdin:
        worker.stdin.write(program_worker.END)  # a fork of this process may keep its copy of the pipe open
    forked.end(worker)
    worker.stdout.close()


@pytest.fixture(scope="session")
def run_program() -> Iterator[Programs]:
    with program_runner() as run:
        yield run


@pytest.fixture(scope="session")
def run_simulated() -> Iterator[Programs]:
    """Runs programs on a machine with two simulated accelerators, ``cuda:0`` and ``cuda:1``."""
    with program_runner("2") as run:
        yield run


@pytest.fixture(scope="session")
def accelerator(run_program: Programs) -> str:
    """The device string of the real accelerator; skips the test where there is none."""
    name = run_program("", "?")["text"]
    if not name:
        pytest.skip("torch.accelerator finds no accelerator on this machine")
    return name
