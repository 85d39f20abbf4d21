"""`torchdevlint run` as a user meets it. The backend is that of `tests.standin`: `meta` is the accelerator."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests import forked
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="programs need torch")

STANDIN = ROOT / "tests" / "standin"
NET = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        noise = torch.zeros(4, 3)
        return self.linear(x) + noise


def train():
    return Net().to("meta")(torch.randn(4, 3).to("meta"))
"""
MAPS_TORCH = """
import mmap, time

with open("libtorch_cpu.so", "rb") as file:
    library = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
time.sleep(0.6)
"""
MIX = "torch.ones(3, device='meta') + torch.ones(3)"


def program(folder: Path, *parts: str) -> str:
    path = folder / "train.py"
    path.write_text("\n".join(dedent(part) for part in parts))
    return "train.py"


def environment(**env: str) -> dict[str, str]:
    paths = os.pathsep.join((str(ROOT), str(STANDIN)))
    return {**os.environ, "NO_COLOR": "1", "PYTHONPATH": paths, "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1", **env}


def run(
    folder: Path, *command: str, flags: tuple[str, ...] = (), stdin: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """In forks; what is about how a program starts and ends, `at_its_own_start`, in processes of its own."""
    line = [sys.executable, "-m", "torchdevlint", "run", *flags, "--", *command]
    return forked.run(line, cwd=folder, stdin=stdin, env=environment(**env))


@pytest.fixture
def at_its_own_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked.SERVER, "wanted", False)


def recorded(folder: Path, *command: str, status: int, **env: str) -> dict[str, Any]:
    """The JSON report of a program that makes `run` end with `status`."""
    done = run(folder, *command, flags=("--output-format", "json", "-o", "report.json"), **env)
    assert done.returncode == status, done.stderr
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return report


def line(site: dict[str, Any] | None) -> tuple[str, int] | None:
    return None if site is None else (Path(site["filename"]).name, site["location"]["row"])


@pytest.mark.usefixtures("at_its_own_start")
def test_a_device_error_is_told_with_its_operands_the_rule_and_the_fix(tmp_path: Path) -> None:
    done = run(tmp_path, sys.executable, program(tmp_path, NET, "print('before')\ntrain()"))
    assert done.returncode == 1
    assert done.stdout == "before\n"
    report = done.stderr[done.stderr.index("torchdevlint run:") :]
    assert done.stderr.startswith("Traceback (most recent call last)")
    assert "device error[TDL003] factory-in-forward: RuntimeError: Tensor on device cpu is not" in report
    assert "--> train.py:13 in Net.forward" in report
    assert "`noise` is made here (zeros)" in report
    assert "operand: `noise` is on cpu (4x3 float32), made by zeros at train.py:12" in report
    assert "rule: TDL003 factory-in-forward: `torchdevlint check` finds it at train.py:12" in report
    assert "help: make it where the model is: `torch.zeros(4, 3, device=x.device)`" in report
    assert "3 transfers between devices, 96 B:" in report
    assert report.endswith("Found 1 device error.\n")


def test_json_has_everything(tmp_path: Path) -> None:
    report = recorded(tmp_path, sys.executable, program(tmp_path, NET, "train()"), status=1)
    assert (report["program_exit_code"], report["exit_code"], report["processes"]) == (1, 1, 1)
    assert (report["backend"], report["simulated"], report["accelerators"]) == ("simulated", True, 2)
    (error,) = report["errors"]
    assert line(error["site"]) == ("train.py", 13)
    assert error["rule"] == {
        "code": "TDL003",
        "name": "factory-in-forward",
        "found": True,
        "filename": str(tmp_path / "train.py"),
        "location": {"row": 12, "column": 17},
        "message": error["rule"]["message"],
    }
    stories = [(one["device"], one["how"], line(one["created"]), line(one["moved"])) for one in error["operands"]]
    assert stories == [("meta", "addmm", ("train.py", 13), None), ("cpu", "zeros", ("train.py", 12), None)]
    assert [(line(one["site"]), one["count"], one["bytes"]) for one in report["transfers"]] == [
        (("train.py", 17), 2, 48),
        (("train.py", 17), 1, 48),
    ]


def test_a_clean_program_keeps_its_exit_code_input_and_output(tmp_path: Path) -> None:
    code = "import sys, torch\nprint(sys.argv[1:], input())\nsys.exit(7)\n"
    done = run(tmp_path, sys.executable, program(tmp_path, code), "--epochs", "-v", stdin="hello\n")
    assert done.returncode == 7
    assert done.stdout == "['--epochs', '-v'] hello\n"
    assert done.stderr.startswith("\ntorchdevlint run: 2 accelerators (cuda, simulated), torch ")
    assert done.stderr.endswith("No device error was seen, but the program ended with exit code 7.\n")


@pytest.mark.parametrize(
    ("code", "where"),
    [
        (f"t = threading.Thread(target=lambda: {MIX}, name='loader')\nt.start(); t.join()", "the thread loader"),
        ("p = multiprocessing.get_context('fork').Process(target=mix, name='p')\np.start(); p.join()", "the process p"),
        pytest.param(
            "p = multiprocessing.get_context('spawn').Process(target=mix, name='p')\np.start(); p.join()",
            "the process p",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["thread", "fork", "spawn"],
)
def test_an_error_that_is_swallowed_elsewhere_fails_the_run(code: str, where: str, tmp_path: Path) -> None:
    body = f"import multiprocessing, threading, torch\n\n\ndef mix():\n    {MIX}\n\n\n"
    main = "if __name__ == '__main__':\n" + "\n".join(f"    {row}" for row in code.splitlines())
    thread = "Thread" in code
    if thread:  # modes are thread-local: the stand-in sees a thread's error when it reaches the top
        main += "\n"
    report = recorded(tmp_path, sys.executable, program(tmp_path, body + main), status=1)
    assert report["program_exit_code"] == 0
    (error,) = report["errors"]
    assert error["where"] == where
    assert line(error["site"]) == ("train.py", 9 if thread else 5)
    assert len(error["operands"]) == (0 if thread else 2)


def test_an_error_of_a_loaders_worker_is_the_programs(tmp_path: Path) -> None:
    code = f"""
    import torch
    from torch.utils.data import DataLoader, Dataset


    class Data(Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return {MIX}


    list(DataLoader(Data(), num_workers=1))
    """
    report = recorded(tmp_path, sys.executable, program(tmp_path, code), status=1)
    assert line(report["errors"][0]["site"]) == ("train.py", 11)
    assert len(report["errors"]) == 1
    assert not report["handled"]


@pytest.mark.slow
@pytest.mark.usefixtures("at_its_own_start")
@pytest.mark.skipif(sys.platform != "linux", reason="processes that say nothing are seen on Linux only")
def test_a_process_that_hides_is_no_clean_run(tmp_path: Path) -> None:
    (tmp_path / "main.sh").write_text('"$1" ok.py; "$1" -I hides.py\n')
    (tmp_path / "ok.py").write_text("import torch\ntorch.ones(2).to('meta')\n")
    (tmp_path / "hides.py").write_text(MAPS_TORCH)
    (tmp_path / "libtorch_cpu.so").write_bytes(b"not really")
    done = run(tmp_path, "sh", "main.sh", sys.executable)
    assert done.returncode == 2
    hidden = f"{sys.executable} -I hides.py: -I makes Python ignore the environment, by which it would be checked\n"
    assert f"\n1 process that loaded torch and could not be checked:\n  {hidden}" in done.stderr
    assert done.stderr.endswith("No device error was seen, but 1 process was not checked.\n")


def test_a_handled_error_is_counted_and_no_failure(tmp_path: Path) -> None:
    code = f"import torch\nfor _ in range(3):\n    try:\n        {MIX}\n    except RuntimeError:\n        pass\n"
    report = recorded(tmp_path, sys.executable, program(tmp_path, code), status=0)
    assert not report["errors"]
    assert [(line(one["site"]), one["count"]) for one in report["handled"]] == [(("train.py", 4), 3)]


def test_an_error_that_is_logged_and_ends_the_program_is_reported(tmp_path: Path) -> None:
    code = f"import sys, torch\ntry:\n    {MIX}\nexcept RuntimeError as error:\n    sys.exit(3)\n"
    report = recorded(tmp_path, sys.executable, program(tmp_path, code), status=3)
    (error,) = report["errors"]
    assert error["where"] == "caught by the program, which then ended with exit code 3"


@pytest.mark.slow
@pytest.mark.usefixtures("at_its_own_start")
@pytest.mark.parametrize("end", ["os._exit(5)", "os.execv(sys.executable, [sys.executable, '-c', 'exit(5)'])"])
def test_a_program_that_leaves_at_once_leaves_its_record(end: str, tmp_path: Path) -> None:
    code = f"import os, sys, torch\ntorch.ones(2).to('meta')\n{end}\n"
    report = recorded(tmp_path, sys.executable, program(tmp_path, code), status=5)
    assert [(one["count"], one["bytes"]) for one in report["transfers"]] == [(1, 8)]
    assert not report["processes_without_end"]


@pytest.mark.slow
@pytest.mark.usefixtures("at_its_own_start")
def test_a_program_that_is_killed_is_told_as_such(tmp_path: Path) -> None:
    code = "import os, signal, torch\nos.kill(os.getpid(), signal.SIGKILL)\n"
    done = run(tmp_path, sys.executable, program(tmp_path, code))
    assert done.returncode == 128 + signal.SIGKILL
    assert "1 process ended without a full record (killed, or crashed)." in done.stderr
    verdict = (
        "No device error was seen, but the program was ended by SIGKILL and 1 process ended without a full record."
    )
    assert done.stderr.endswith(f"{verdict}\n")


@pytest.mark.slow
@pytest.mark.usefixtures("at_its_own_start")
def test_a_program_without_torch_was_not_checked(tmp_path: Path) -> None:
    done = run(tmp_path, sys.executable, "-c", "print('hi')")
    assert (done.returncode, done.stdout) == (2, "hi\n")
    assert "no process was seen that imports torch" in done.stderr
    assert done.stderr.endswith("Nothing was checked.\n")


def test_the_dashes_may_be_left_out(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "torchdevlint",
        "run",
        sys.executable,
        "-c",
        "import sys; print(sys.argv)",
        "--timeout",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment(), check=False)
    assert (done.returncode, done.stdout) == (2, "['-c', '--timeout']\n")  # nothing was checked


@pytest.mark.slow
@pytest.mark.usefixtures("at_its_own_start")
def test_the_time_limit_ends_everything(tmp_path: Path) -> None:
    code = """
    import subprocess, sys, time, torch
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    open("child", "w").write(str(child.pid))
    torch.ones(2).to("meta")
    print("started", flush=True)
    time.sleep(60)
    """
    started = time.monotonic()
    done = run(tmp_path, sys.executable, program(tmp_path, code), flags=("--timeout", "10"))
    assert done.returncode == 124
    assert time.monotonic() - started < 40
    assert done.stdout == "started\n"
    assert "1 transfer between devices, 8 B:" in done.stderr
    assert done.stderr.endswith("No device error was seen, but the program was ended after 10 s.\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "child").read_text()), 0)


@pytest.mark.slow
def test_an_interrupt_is_the_programs_to_answer(tmp_path: Path) -> None:
    code = """
    import time, torch
    try:
        print("ready", flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        print("stopped", flush=True)
        raise SystemExit(4)
    """
    command = [sys.executable, "-m", "torchdevlint", "run", "--", sys.executable, program(tmp_path, code)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, text=True, env=environment(), **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (4, "stopped\n")
    assert err.endswith("No device error was seen, but the program ended with exit code 4.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--"], "Missing argument"),
        (["--", "no-such-command"], "there is no command `no-such-command`"),
        (["--device", "cuda", "--accelerators", "2", "--", "true"], "give one of them"),
        (["--accelerators", "-1", "--", "true"], "-1"),
    ],
)
def test_bad_usage_exits_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "torchdevlint", "run", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment(),
    )
    assert done.returncode == 2
    assert message in done.stderr


def test_a_backend_that_fails_is_no_clean_run(tmp_path: Path) -> None:
    code = "try:\n    import torch\nexcept Exception:\n    pass\n"
    done = run(tmp_path, sys.executable, program(tmp_path, code), STANDIN="broken")
    assert done.returncode == 2
    assert "the backend failed: RuntimeError: no such luck" in done.stderr


def test_pytest_tells_the_test_that_failed(tmp_path: Path) -> None:
    (tmp_path / "test_net.py").write_text(f"import torch\n\n\ndef test_mix():\n    {MIX}\n")
    report = recorded(tmp_path, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", status=1)
    (error,) = report["errors"]
    assert error["where"] == "the test test_net.py::test_mix"
    assert line(error["site"]) == ("test_net.py", 5)


def test_unittest_tells_the_test_that_failed(tmp_path: Path) -> None:
    code = f"import unittest, torch\nclass T(unittest.TestCase):\n    def test_mix(self):\n        {MIX}\n"
    (tmp_path / "test_net.py").write_text(code)
    report = recorded(tmp_path, sys.executable, "-m", "unittest", status=1)
    assert [one["where"] for one in report["errors"]] == ["the test test_mix (test_net.T.test_mix)"]


@pytest.mark.slow
def test_real_hardware_that_is_not_there_is_no_clean_run(tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    done = run(tmp_path, sys.executable, "-c", "import torch", flags=("--device", "cuda"))
    assert done.returncode == 2
    assert "the backend failed: RuntimeError: torch" in done.stderr
    assert "finds no cuda device here" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_at_a_terminal_the_program_asks_and_is_interrupted(tmp_path: Path) -> None:
    import pty

    code = """
    import time
    print("hello", input("name? "), flush=True)
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        raise SystemExit(9)
    """
    name = program(tmp_path, code)
    child, terminal = pty.fork()
    if not child:
        os.chdir(tmp_path)
        command = [sys.executable, "-m", "torchdevlint", "run", "--", sys.executable, name]
        os.execve(sys.executable, command, environment())
    shown = b""
    answers = {b"name? ": b"Ann\n", b"hello Ann": b"\x03"}
    while True:
        try:
            shown += os.read(terminal, 1000)
        except OSError:
            break
        for question in [one for one in answers if one in shown]:
            time.sleep(0.2)
            os.write(terminal, answers.pop(question))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert b"Nothing was checked." in shown
