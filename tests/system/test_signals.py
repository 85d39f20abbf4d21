"""However a run ends, it ends with all of its processes, and with few words."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import ROOT, needs_fork
from torchdevlint import engine
from torchdevlint.config import Settings

LOAD = "import torch\n\nstate = torch.load('model.pt')\n"
SLEEPING = """\
import os, sys, time
from torchdevlint import cli
from torchdevlint.flow import analyse as inference

def analyse(*_):
    os.write(1, b"working\\n")
    time.sleep(60)

inference.analyse = analyse
cli.main(["check", "--jobs", "2", "."])
"""
INTERRUPTED_AT_THE_START = """\
import os, signal, sys
from torchdevlint import cli

os.register_at_fork(after_in_parent=lambda: os.killpg(0, signal.SIGINT))
cli.main(["check", "--jobs", sys.argv[1], "."])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(20):
        (tmp_path / f"m{number}.py").write_text(LOAD)
    return tmp_path


def start(folder: Path, program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@needs_fork
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_workers_end_with_the_process_that_started_them(folder: Path, number: signal.Signals) -> None:
    process = start(folder, SLEEPING)
    assert process.stdout is not None
    for _ in range(2):
        assert process.stdout.readline() == "working\n"
    process.send_signal(number)
    # Ends when nobody has the pipe any more, which is when the last worker is gone.
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (-number, "")


@needs_fork
@pytest.mark.parametrize("jobs", ["2", "3"])
def test_an_interrupt_while_the_workers_start(folder: Path, jobs: str) -> None:
    process = start(folder, INTERRUPTED_AT_THE_START, jobs)
    output, errors = process.communicate(timeout=30)
    assert (process.returncode, output, errors.split()) == (130, "", ["interrupted"])


@needs_fork
def test_many_interrupts(folder: Path) -> None:
    process = start(folder, SLEEPING)
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    for _ in range(10):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.01)
    _, errors = process.communicate(timeout=30)
    assert process.returncode in (130, -signal.SIGINT)
    assert errors.split() in ([], ["interrupted"])


@needs_fork
@pytest.mark.parametrize("where", ["__init__", "submit"])
def test_where_no_worker_can_be_started_the_work_is_done_here(
    folder: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.chdir(folder)
    names = sorted(path.name for path in folder.iterdir())
    one = engine.check_paths(names, Settings(), jobs=1)
    monkeypatch.setattr(ProcessPoolExecutor, where, refuse)
    assert engine.check_paths(names, Settings(), jobs=2) == one
