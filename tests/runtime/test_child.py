"""Whatever a child does, the caller gets an outcome in bounded time and nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT, a_part
from torchdevlint.runtime.child import TAIL, Call, Ended, Limits, Outcome, run_all
from torchdevlint.runtime.verify.server import Server

MIB = 1 << 20
posix = pytest.mark.skipif(os.name != "posix", reason="process groups and resource limits are POSIX")


def call(body: str, seconds: float = 20.0, memory: int | None = None, hide: bool = False) -> Call:
    """Of a ``flagged(device)`` with this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    source = f"def flagged(device):\n{lines}"
    return Call("call", "<hostile>", source, "flagged", hide=hide, limits=Limits(seconds, memory))


def in_a_fresh_process(asked: Call) -> Outcome:
    (outcome,) = run_all([asked])
    return outcome


def run(body: str, seconds: float = 20.0, memory: int | None = None) -> Outcome:
    return in_a_fresh_process(call(body, seconds, memory))


@pytest.fixture(params=["fresh", "fork"])
def outcome_of(request: pytest.FixtureRequest) -> Callable[[Call], Outcome]:
    """A call in a process of its own, or in a fork of the one that executes: there is no difference."""
    if request.param == "fresh":
        return in_a_fresh_process
    server: Server = request.getfixturevalue("server")
    return server.run


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] not in "ZX"


def gone(pid: int, within: float = 5.0) -> bool:
    deadline = time.monotonic() + within
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


def test_what_a_function_returns_comes_back_as_plain_values(outcome_of: Callable[[Call], Outcome]) -> None:
    outcome = outcome_of(call("return {'a': 1, 'b': [1], 'c': None, 'd': 'x' * 1000}"))
    assert outcome.ended is Ended.RETURNED
    assert outcome.value == {"a": 1, "b": "[1]", "c": None, "d": "x" * 200 + "..."}


def test_an_exception_comes_back_with_its_bases_and_a_traceback_of_the_program_only(
    outcome_of: Callable[[Call], Outcome],
) -> None:
    outcome = outcome_of(call("raise FileNotFoundError('no such thing')"))
    assert outcome.ended is Ended.RAISED
    assert outcome.exception[:2] == ("FileNotFoundError", "OSError")
    assert outcome.message == "no such thing"
    assert "raise FileNotFoundError('no such thing')" in outcome.traceback
    assert ".py" not in outcome.traceback


@pytest.mark.parametrize("body", ["raise SystemExit(0)", "import sys\nsys.exit('bye')", "raise KeyboardInterrupt"])
def test_leaving_the_program_is_an_exception_like_any_other(body: str, outcome_of: Callable[[Call], Outcome]) -> None:
    assert outcome_of(call(body)).ended is Ended.RAISED


@pytest.mark.parametrize(
    "body",
    a_part(
        ["while True: pass", "import time\ntime.sleep(1000)", "while True: print('x' * 1000)", "(9 ** 9) ** (9 ** 9)"]
    ),
    ids=["loop", "sleep", "endless-output", "one-endless-operation-in-c"],
)
def test_a_hang_ends_at_the_limit(body: str) -> None:
    began = time.monotonic()
    outcome = run(body, seconds=1.0)
    assert outcome.ended is Ended.TIMED_OUT
    assert outcome.detail == "no end after 1 s"
    assert time.monotonic() - began < 5.0


@pytest.mark.parametrize("status", [0, 3])
def test_leaving_without_an_answer_is_a_death(status: int, outcome_of: Callable[[Call], Outcome]) -> None:
    outcome = outcome_of(call(f"import os\nos._exit({status})"))
    assert outcome.ended is Ended.DIED
    assert outcome.detail == f"it ended with exit status {status} and without an answer"


@posix
@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
        ("import os\nos.abort()", "SIGABRT"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("import os, signal\nos.killpg(0, signal.SIGTERM)", "SIGTERM"),
    ],
    ids=["segfault", "abort", "kill", "kills-its-group"],
)
def test_a_crash_names_its_signal(body: str, name: str) -> None:
    outcome = run(body)
    assert outcome.ended is Ended.DIED
    assert outcome.detail == f"it was killed by {name}"


@posix
def test_a_segfault_shows_where_it_was() -> None:
    assert 'File "<hostile>", line 3 in flagged' in run("import ctypes\nctypes.string_at(0)").output


@pytest.mark.slow
def test_of_a_flood_of_output_only_the_end_is_kept() -> None:
    outcome = run("for number in range(300000): print('line', number)\nreturn {}")
    assert outcome.ended is Ended.RETURNED
    assert len(outcome.output) <= TAIL
    assert outcome.output.endswith("line 299999\n")


def test_an_enormous_message_is_cut() -> None:
    outcome = run("raise ValueError('x' * 5_000_000)")
    assert outcome.ended is Ended.RAISED
    assert len(outcome.message) <= 20_000


def test_an_enormous_answer_is_refused() -> None:
    outcome = run("return {str(number): 'x' * 100 for number in range(20000)}")
    assert outcome.ended is Ended.DIED
    assert outcome.detail == "its answer was too large"


@posix
@pytest.mark.skipif(sys.platform == "darwin", reason="macOS refuses a limit of the address space")
def test_memory_is_limited() -> None:
    outcome = run("hog = []\nwhile True: hog.append(bytearray(50_000_000))", memory=600 * MIB)
    assert outcome.ended in (Ended.RAISED, Ended.DIED)
    assert outcome.ended is Ended.DIED or outcome.exception[0] == "MemoryError"


@posix
@pytest.mark.parametrize("hang", [False, True], ids=["returns", "hangs"])
def test_processes_that_it_started_end_with_it(tmp_path: Path, hang: bool) -> None:
    note = tmp_path / "pid"
    last = "while True: pass" if hang else "return {}"
    outcome = run(
        "import pathlib, subprocess, sys\n"
        "other = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(other.pid))\n{last}",
        seconds=2.0 if hang else 20.0,
    )
    assert outcome.ended is (Ended.TIMED_OUT if hang else Ended.RETURNED)
    assert gone(int(note.read_text()))


def test_it_works_in_an_empty_folder_that_is_removed() -> None:
    outcome = run("import os\nopen('left', 'w').write('x')\nreturn {'folder': os.getcwd(), 'files': len(os.listdir())}")
    assert outcome.value["files"] == 1
    assert not Path(outcome.value["folder"]).parent.exists()


def test_it_reads_nothing_from_this_stdin() -> None:
    assert run("import sys\nreturn {'stdin': sys.stdin.read()}").value == {"stdin": ""}


def test_a_program_that_does_not_compile_is_an_exception() -> None:
    assert run("return (").exception[0] == "SyntaxError"


def test_hidden_accelerators_are_hidden_from_the_child_only(outcome_of: Callable[[Call], Outcome]) -> None:
    body = "import os\nreturn {'v': os.environ.get('CUDA_VISIBLE_DEVICES')}"
    before = outcome_of(call(body)).value
    assert outcome_of(call(body, hide=True)).value == {"v": ""}
    assert outcome_of(call(body)).value == before == {"v": os.environ.get("CUDA_VISIBLE_DEVICES")}


def test_outcomes_come_in_the_order_of_the_calls() -> None:
    bodies = ["import time; time.sleep(0.6); return {'n': 0}", "return {'n': 1}", "raise ValueError", "return {'n': 3}"]
    calls = [Call("call", "<x>", f"def flagged(device): {body}", "flagged", limits=Limits(20, None)) for body in bodies]
    first, second, third, fourth = run_all(calls, at_once=2)
    assert [first.value, second.value, fourth.value] == [{"n": 0}, {"n": 1}, {"n": 3}]
    assert third.exception[0] == "ValueError"


@posix
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_child_ends_when_its_parent_does(tmp_path: Path, number: signal.Signals) -> None:
    note = tmp_path / "pid"
    body = f"import os, pathlib, time; pathlib.Path({str(note)!r}).write_text(str(os.getpid())); time.sleep(1000)"
    program = (
        "from torchdevlint.runtime.child import Call, Limits, run_all\n"
        f"run_all([Call('call', '<x>', {f'def flagged(device): {body}'!r}, 'flagged', limits=Limits(600, None))])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen([sys.executable, "-c", program], env=environment, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    child = int(note.read_text())
    assert alive(child)
    parent.send_signal(number)
    parent.wait(timeout=10)
    assert gone(child)
