"""How the record gets into the processes of a program, and how those are told into which it does not."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

from torchdevlint.runtime.record import recorder as recording
from torchdevlint.runtime.record.recorder import Recorder
from torchdevlint.runtime.start import boot, inherit, shims, unseen
from torchdevlint.runtime.start.inherit import BOOTSTRAP, PATH, RECORD, SIMULATE

CHECKED = (
    "import os, sys; print('torchdevlint.runtime.start.boot' in sys.modules, os.environ.get('TORCHDEVLINT_SIMULATE'))"
)
posix = pytest.mark.skipif(os.name != "posix", reason="the commands are scripts for a shell")


@pytest.fixture
def given(tmp_path: Path) -> dict[str, str]:
    return {RECORD: str(tmp_path), SIMULATE: "2"}


def output(command: list[str], env: dict[str, str], folder: Path) -> str:
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout + done.stderr


@posix
@pytest.mark.parametrize(
    "line",
    [
        "PYTHONPATH=. python -c '{}'",
        "unset PYTHONPATH TORCHDEVLINT_RECORD TORCHDEVLINT_SIMULATE; python -c '{}'",
        "env -i $(command -v python) -c '{}'",
        "env -i {real} -c '{}'",
        "env PYTHONPATH= script",
    ],
)
def test_what_a_shell_drops_is_given_back(line: str, tmp_path: Path, given: dict[str, str]) -> None:
    beside = tmp_path / "it's bin"
    beside.mkdir()
    (beside / "python").symlink_to(sys.executable)
    (beside / "script").write_text(f"#!{sys.executable}\n{CHECKED}\n")
    (beside / "script").chmod(0o755)
    search = os.pathsep.join((str(beside), os.environ["PATH"]))
    shims.make(tmp_path / "bin", search, given)
    env = {**given, PATH: str(BOOTSTRAP), "PATH": os.pathsep.join((str(tmp_path / "bin"), search))}
    code = CHECKED.replace("'", '"')
    told = output(["sh", "-c", line.replace("{real}", sys.executable).replace("{}", code)], env, tmp_path)
    assert told == "True 2\n"


@posix
def test_the_commands_are_those_that_a_shell_would_find(tmp_path: Path, given: dict[str, str]) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, names in ((first, ("python3", "tool")), (second, ("python3", "python3.11", "tool", "other", "ls"))):
        folder.mkdir()
        for name in names:
            (folder / name).write_text("#!/bin/sh\n" if name == "ls" else "#!/usr/bin/env python3\n")
            (folder / name).chmod(0o755)
    shims.make(tmp_path / "bin", f"{first}{os.pathsep}{second}{os.pathsep}{tmp_path / 'none'}", given)
    commands = {one.name: one.read_text().splitlines()[-1] for one in (tmp_path / "bin").iterdir()}
    assert commands == {
        "python3": f'exec {first}/python3 "$@"',
        "tool": f'exec {first}/tool "$@"',
        "python3.11": f'exec {second}/python3.11 "$@"',
        "other": f'exec {second}/other "$@"',
    }


STARTS = {
    "run": "subprocess.run(command, env={})",
    "position": "subprocess.Popen(command, -1, None, None, None, None, None, True, False, None, {}).wait()",
    "bytes": "subprocess.run(command, env={b'A': b'b'})",
    "cleared": "os.environ.clear(); subprocess.run(command)",
    "spawn": "os.waitpid(os.posix_spawn(command[0], command, {}), 0)",
    "execve": "os.execve(command[0], command, {'PYTHONPATH': '.'})",
    "execv": "os.environ.clear(); os.execv(command[0], command)",
    "path": "subprocess.run(command, env={**os.environ, 'PYTHONPATH': '.'})",
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_a_child_with_an_environment_of_its_own_is_checked(start: str, tmp_path: Path, given: dict[str, str]) -> None:
    if "posix" in start and not hasattr(os, "posix_spawn"):
        pytest.skip("there is no posix_spawn here")
    code = f"import os, subprocess, sys\ncommand = [sys.executable, '-c', {CHECKED!r}]\n{start}\n"
    assert output([sys.executable, "-c", code], {**given, PATH: str(BOOTSTRAP)}, tmp_path) == "True 2\n"


def test_what_is_no_environment_is_the_programs_error(tmp_path: Path, given: dict[str, str]) -> None:
    code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''], env={'A': 1})\n"
    assert "TypeError: expected str, bytes" in output(
        [sys.executable, "-c", code], {**given, PATH: str(BOOTSTRAP)}, tmp_path
    )


def test_an_inner_run_keeps_its_own_record(given: dict[str, str]) -> None:
    inner = {RECORD: "/inner", PATH: str(BOOTSTRAP)}
    assert inherit.whole(given, inner) is inner
    assert inherit.whole(given, {RECORD: "/inner"}) == {RECORD: "/inner", PATH: str(BOOTSTRAP)}


@pytest.mark.parametrize(
    ("command", "environment", "told"),
    [
        ("python3.11 -I x.py", {}, "-I makes"),
        ("/usr/bin/python -uE x.py", {}, "-E makes"),
        ("python -W error -X dev -S -m x", {}, "-S keeps"),
        ("python -c -I", {}, "an environment of its own, without TORCHDEVLINT_RECORD"),
        ("python -mI", {}, "an environment of its own"),
        ("python x.py -I", {RECORD: "/r", PATH: "."}, "a PYTHONPATH of its own"),
        ("python x.py", {RECORD: "/r", PATH: f".{os.pathsep}{BOOTSTRAP}"}, "another `sitecustomize`"),
        ("./server --model x.pt", {RECORD: "/r"}, "it is no Python"),
    ],
)
def test_why_a_process_is_not_checked(command: str, environment: dict[str, str], told: str) -> None:
    assert told in unseen.reason(command.split(), environment)


@pytest.mark.skipif(sys.platform != "linux", reason="looks under /proc")
def test_forks_and_what_announces_itself_late_are_not_hidden(tmp_path: Path) -> None:
    (tmp_path / "libtorch_cpu.so").write_bytes(b"not really")
    code = """
    import mmap, os, sys

    with open("libtorch_cpu.so", "rb") as file:
        library = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    child = os.fork()
    print(os.getpid(), flush=True) if child else None
    sys.stdin.readline() if child else os.read(0, 1)
    """
    command = [sys.executable, "-I", "-c", dedent(code)]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        watch = unseen.Watch(process.pid, tmp_path)
        watch.look()
        assert [one.command for one in watch.hidden()] == [tuple(command)]
        (tmp_path / f"{process.pid}{inherit.HERE}").touch()
        assert watch.hidden() == ()
        process.communicate(b"\n\n")


def test_an_error_of_a_process_that_imports_torch_while_it_runs_ends_it() -> None:
    class BaseProcess:
        name = "Process-1"

        def run(self) -> None:
            recording.start(recorder)  # as the import of torch does
            raise RuntimeError("Expected all tensors to be on the same device, but found cuda:0 and cpu!")

        def _bootstrap(self) -> None:
            with contextlib.suppress(RuntimeError):
                self.run()

    recorder, module = Recorder(), ModuleType("multiprocessing.process")
    vars(module)["BaseProcess"] = BaseProcess
    boot._watch_processes(module)
    try:
        BaseProcess()._bootstrap()
    finally:
        recording.stop(recorder)
    (error,) = recorder.errors.values()
    assert (error["status"], error["where"]) == ("uncaught", "the process Process-1")
