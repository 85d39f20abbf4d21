"""A fork is what a process of its own is: the same command lines in both, and what only a fork could get wrong."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import conftest, forked

pytestmark = pytest.mark.skipif(not forked.SERVER.wanted, reason="programs do not run in forks here")

SCRIPTS = {
    "what the interpreter sets": (  # LC_CTYPE is set where the locale is C
        "import __main__, os, sys\n"
        "print(sys.argv, sys.path, sys.orig_argv, sorted(vars(__main__)), __name__, __file__, os.getcwd())\n"
        "print(__main__.__dict__ is globals(), __spec__, __package__, sys.flags.utf8_mode)\n"
        "print([(s.encoding, s.errors, s.mode, s.fileno(), s.line_buffering) for s in (sys.stdin, sys.stdout)])\n"
        "print([name for name in ('torch', 'torchdevlint', 'pytest', 'tests') if name in sys.modules])\n"
        "print({name: os.environ[name] for name in sorted(os.environ) if name != 'LC_CTYPE'})\n"
    ),
    "input": "import sys\nprint(input(), sys.stdin.read())\n",
    "an exit code": "import sys\nsys.exit(7)\n",
    "an exit code that is too large": "raise SystemExit(-1)\n",
    "a last word": "import sys\nsys.exit('that is all')\n",
    "an exception": "def f():\n    1 / 0\n\n\ntry:\n    f()\nexcept ArithmeticError:\n    raise KeyError('x')\n",
    "a hook for exceptions": (
        "import sys\nsys.excepthook = lambda *a: print('hook', a[0], sys.last_value)\nraise OSError\n"
    ),
    "a syntax error": "x = (\n",
    "an interrupt": "raise KeyboardInterrupt\n",
    "a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n",
    "the end at once": "import os\nprint('lost')\nos._exit(3)\n",
    "exit handlers": (
        "import atexit, sys\natexit.register(print, 'first')\natexit.register(print, 'last')\nsys.exit(2)\n"
    ),
    "a thread that goes on": "import threading, time\nthreading.Timer(0.05, print, ['late']).start()\nprint('soon')\n",
    "an error in a thread": (
        "import threading\nt = threading.Thread(target=int, args='x', name='t')\nt.start()\nt.join()\n"
    ),
    "warnings": "import warnings\nwarnings.warn('w')\nwarnings.warn('d', DeprecationWarning)\nprint('end')\n",
    "handlers of signals": (
        "import signal\nprint(*(signal.getsignal(n) for n in (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM)))\n"
    ),
    "another program": "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'print(1); exit(4)'])\n",
    "processes": (
        "import multiprocessing, subprocess, sys\n"
        "def f(x):\n    print(x, flush=True)\n"
        "if __name__ == '__main__':\n"
        "    for method in ('fork', 'spawn'):\n"
        "        p = multiprocessing.get_context(method).Process(target=f, args=(method,))\n"
        "        p.start(); p.join()\n"
        "    print(subprocess.run([sys.executable, '-c', 'import sys; print(sys.argv, sys.path[0]); exit(5)', 'a'],\n"
        "        capture_output=True, text=True))\n"
    ),
    "neighbours": "import helper\nprint(helper.__file__)\n",
    "open files": "import os\nprint(sorted(map(int, os.listdir('/proc/self/fd')))[:4])\n",
}


def both(folder: Path, *arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """What a fork did, which is what a process of its own did."""
    (folder / "helper.py").write_text("")
    of_fork, of_process = (
        way(*arguments, cwd=folder, stdin=stdin, PYTHONDONTWRITEBYTECODE="1", **env)
        for way in (forked.python, conftest.python)
    )
    assert comparable(of_fork) == comparable(of_process)
    return of_fork


def comparable(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    return done.returncode, done.stdout, re.sub(r"0x[0-9a-f]+", "0x", done.stderr)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script(name: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPTS[name])
    assert both(tmp_path, "script.py", "--flag", "x", stdin="one\ntwo\n").args[1] == "script.py"


@pytest.mark.parametrize(
    "arguments",
    [
        ("-c", "import sys; print(sys.argv, sys.path[0], __name__); 1 / 0", "a"),
        ("-m", "json.tool", "--compact"),
        ("-m", "helper"),
        ("-m", "nosuchmodule"),
        ("-m", "torchdevlint", "check", "--isolated", "script.py"),
        ("-m", "torchdevlint.runtime.execute.nosuch"),
        ("folder/script.py",),
        ("nosuch.py",),
        ("-I", "-c", "import sys; print(sys.flags.isolated)"),
    ],
    ids=lambda arguments: " ".join(arguments[:2])[:20],
)
def test_a_command_line(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder" / "script.py", tmp_path / "script.py"):
        path.write_text("import torch\n\nif __name__ == '__main__':\n    x = torch.load('a.pt')\n")
    both(tmp_path, *arguments[:1], *arguments[1:], stdin='{"a": 1}')


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONPATH": f"one{os.pathsep}{conftest.ROOT}{os.pathsep}one"},
        {"PYTHONWARNINGS": "error::UserWarning"},
        {"PYTHONIOENCODING": "ascii:replace"},
        {"PYTHONUNBUFFERED": "1"},
        {"PYTHONHASHSEED": "3", "A": "b"},
        {"PYTHONUTF8": "0", "LC_ALL": "C"},
    ],
    ids=lambda env: next(iter(env)),
)
def test_an_environment(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "sitecustomize.py").write_text("import sys\nprint('here', sys.argv, len(sys.path))\n")
    both(
        tmp_path, "-c", "import os, sys, warnings\nprint('é', sys.path, sys.warnoptions, os.environ.get('A'))\n"
        "print(sys.stdout.encoding, sys.stdout.errors, sys.stderr.errors)\nif 'A' in os.environ: print(hash('x'))\n"
        "warnings.warn('no')", **env,
    )  # fmt: skip


TORCH = """
import os, sys
assert not any(name.partition(".")[0] == "torch" for name in sys.modules)
import torch.nn as nn
import torch
print(sys.modules["torch"] is torch, torch.nn is nn, torch.__spec__.name, torch.__file__)
print(nn.Linear(2, 2).weight.device, torch.get_num_threads(), torch.is_grad_enabled())
torch.optim.SGD([torch.ones(2, requires_grad=True)], 0.1).step()
try:
    torch.ones(3, device="cuda")
except Exception as error:
    print(type(error), torch.cuda.is_initialized())
"""


@pytest.mark.slow
def test_torch_is_there_once_it_is_imported(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(TORCH)
    assert both(tmp_path, "script.py", OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="").returncode == 0


def test_a_fork_starts_what_it_starts_in_forks_until_it_imports_torch() -> None:
    """The program of ``torchdevlint run`` is a fork; what has torch is not handed on to others."""
    say = "import os; print(open('/proc/self/cmdline').read().count('tests.fork' + '_server'))"
    start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {say!r}])"
    assert forked.python("-c", say).stdout == "1\n"
    assert forked.python("-c", start).stdout == "1\n"
    assert forked.python("-c", f"import torch\n{start}").stdout == "0\n"


GIVEN = """
import os, sys
os.write(int(sys.argv[1]), b"seen")
print(*(number for number in range(3, 64) if os.path.exists(f"/proc/self/fd/{number}")))
"""


def test_a_process_has_the_files_that_it_is_given_and_no_others() -> None:
    for start in (forked.Popen, subprocess.Popen):
        reading, writing = os.pipe()
        command = [sys.executable, "-c", GIVEN, str(writing)]
        with start(command, pass_fds=[writing], stdout=subprocess.PIPE, text=True) as process:
            os.close(writing)
            numbers, _ = process.communicate(timeout=60)
        with os.fdopen(reading, "rb") as pipe:
            assert pipe.read() == b"seen"
        assert numbers.split() == [str(writing)]


def test_one_fork_leaves_nothing_to_the_next() -> None:
    change = "import os, sys, torch, warnings; os.environ['LEFT'] = '1'; sys.path.append('left'); torch.manual_seed(3)"
    change += "; from torchdevlint.runtime.simulated import install; install(); warnings.resetwarnings()"
    forked.python("-c", change)
    seen = forked.python(
        "-c", "import os, sys, torch; print('LEFT' in os.environ, 'left' in sys.path, torch.cuda.device_count(),"
        "torch.initial_seed() == 3)", CUDA_VISIBLE_DEVICES="",
    )  # fmt: skip
    assert seen.stdout == "False False 0 False\n"


def test_a_program_that_does_not_end_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        forked.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.5)
    process = forked.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    assert process.poll() is None
    process.kill()
    assert process.wait(10) == -9
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[forked._Server]:
    """One above the forks that is this test's alone."""
    one = forked._Server()
    monkeypatch.setattr(forked, "SERVER", one)
    yield one
    one.stop()


ENDS_SOON = [sys.executable, "-c", "import time; time.sleep(0.2)"]


@pytest.mark.slow
def test_the_processes_of_the_tests_end_though_a_fork_has_their_pipes(
    server: forked._Server, recwarn: pytest.WarningsRecorder
) -> None:
    """A worker of a loader, say, whose iterator is not collected yet."""
    with conftest.program_runner() as run:
        assert run("main = print", "cpu")["outcome"] == "ok"
        child = os.fork()
        if not child:
            signal.pause()
        assert conftest.forks_of_this_process() == [child]
    process = server.process
    server.stop()
    assert process is not None
    assert process.returncode == 0
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert not [each for each in recwarn if "was killed" in str(each.message)]


def test_a_process_that_does_not_end_when_it_is_told_to_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "ENDING", 0.1)
    for start in (forked.Popen, subprocess.Popen):
        process = start([sys.executable, "-c", "import time; time.sleep(60)"])
        with pytest.warns(UserWarning, match="was killed"):
            forked.end(process)
        assert process.returncode == -9


@pytest.mark.slow
def test_what_a_dead_server_has_started_has_no_status_and_another_takes_its_place(server: forked._Server) -> None:
    left = forked.Popen(ENDS_SOON)
    assert server.process is not None
    server.process.kill()
    with pytest.raises(ConnectionError):
        left.wait()
    with pytest.raises(ConnectionError):
        left.poll()
    assert forked.python("-c", "print(1)").stdout == "1\n"
    with pytest.raises(ConnectionError):
        left.poll()
    forked.end(left)
    with pytest.warns(ResourceWarning, match="still running"):
        left.__del__()
    assert left.returncode == sys.maxsize
    server.stop()
    assert server.process is server.connection is None
