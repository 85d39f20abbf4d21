"""Whatever the code of a finding does, `verify` ends in time, with a verdict for each finding, and leaves nothing.

Every target is a module with one true finding. What it does besides is done at its import, or in the flagged function.
Processes are found by a word in their environment or among their arguments.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from tests.conftest import ROOT, a_part
from torchdevlint.config import Settings
from torchdevlint.engine import check_paths
from torchdevlint.model import Diagnostic
from torchdevlint.runtime.verify.forked import ForkServer, can_fork
from torchdevlint.runtime.verify.ladder import Order, climb
from torchdevlint.runtime.verify.server import Answer, Server
from torchdevlint.runtime.verify.verdict import Rung

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.xdist_group("hostile"),
    pytest.mark.skipif(
        sys.platform != "linux", reason="that nothing is left is checked in /proc, and promised in full on Linux only"
    ),
]

MIB = 1 << 20
MARK = "TORCHDEVLINT_HOSTILE"
SLEEP = "import time; time.sleep(1000)"
FLAGGED = "return x + torch.ones(3)"


@dataclass(frozen=True)
class Target:
    """`first` is run at the import, `then` in what the flagged function calls.

    `ended` is how the search for values ends, and `told` what the answer says of it: regular expressions. What
    `comes_through` gives values, and shows its symptom, all the same (None: it may).
    """

    first: str = ""
    then: str = ""
    ended: str = "returned"
    told: str = ""
    comes_through: bool | None = False

    @property
    def source(self) -> str:
        imports = "import builtins, ctypes, importlib, json, os, re, resource, shutil, signal, subprocess, sys"
        return (
            f"{imports}, threading, time\n\nimport torch\n\n{self.first}\n\n\n"
            f"def act(x):\n{indent(self.then or 'pass', '    ')}\n\n\n"
            f"def total(x: torch.Tensor):\n    act(x)\n    {FLAGGED}\n"
        )


FAKE = (
    "fake = json.dumps({'ended': 'returned', 'value': {'program': 'forged', 'values': {}, 'why': '', 'runs': 0}})\n"
    "for stream in range(1, 256):\n"
    "    try:\n"
    "        os.write(stream, (fake + chr(10)).encode())\n"
    "    except OSError:\n"
    "        pass\n"
)
DAEMON = (
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0:\n"
    f"        os.execve(sys.executable, [sys.executable, '-c', {SLEEP!r}, os.environ['{MARK}']], {{}})\n"
    "    os._exit(0)\n"
)
HOPPER = (
    "if os.fork() == 0:\n"
    "    for _ in range(200):\n"
    "        if os.fork():\n"
    "            os._exit(0)\n"
    "        os.setsid()\n"
    "    time.sleep(1000)\n"
)
SELF = (
    "if __name__ != 'another':\n"
    "    spec = importlib.util.spec_from_file_location('another', __file__)\n"
    "    sys.modules['another'] = importlib.util.module_from_spec(spec)\n"
    "    spec.loader.exec_module(sys.modules['another'])\n"
)
OWN = "class Own(BaseException):\n    pass\n"
MUTE = "class Mute(Exception):\n    def __str__(self):\n        raise RuntimeError('no words')\n"
MODULE_GETATTR = "def __getattr__(name):\n    return getattr(sys.modules[__name__], name)\n"
TRACER = "def trace(*_):\n    raise OSError('traced')\nsys.settrace(trace)"
DEAF = "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):\n    signal.signal(number, signal.SIG_IGN)\n"
ABOVE = "shutil.rmtree(os.path.dirname(os.getcwd()))"
FAR_ABOVE = "shutil.rmtree(os.path.dirname(os.path.dirname(os.getcwd())))"
LEAK = (
    "resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))\nkept = []\n"
    "try:\n    while True:\n        kept.append(open(os.devnull))\nexcept OSError:\n    pass\n"
)
HANGS = {
    "loops": Target(then="while True: pass", ended="timed out", told="no end after"),
    "computes-in-c": Target(then="(9 ** 9) ** (9 ** 9)", ended="timed out", told="no end after"),
    "matches-for-ever": Target(then="re.match('(a+)+$', 'a' * 64 + 'b')", ended="timed out", told="no end after"),
    "sleeps-at-import": Target("time.sleep(1000)", ended="timed out", told="no end after"),
    "ignores-signals": Target(DEAF, "while True: time.sleep(1000)", ended="timed out", told="no end after"),
    "alarm": Target(  # each run has an alarm of the harness besides
        "signal.alarm(1)", "time.sleep(1000)", ended="died|timed out", told="killed by SIGALRM|no end after"
    ),
    "stops-itself": Target(then="os.kill(os.getpid(), signal.SIGSTOP)", ended="timed out", told="no end after"),
}
ENDS = {
    "exits-0": Target(then="os._exit(0)", ended="died", told="exit status 0 and without an answer"),
    "exits-3": Target(then="os._exit(3)", ended="died", told="exit status 3 and without an answer"),
    "segfaults": Target(then="ctypes.string_at(0)", ended="died", told="killed by SIGSEGV"),
    "kills-its-group": Target(then="os.killpg(0, signal.SIGTERM)", ended="died", told="killed by SIGTERM"),
    "forges-and-exits": Target(FAKE + "os._exit(0)", ended="died", told="exit status 0 and without an answer"),
    "removes-its-parent-folder": Target(ABOVE, ended="died", told="without an answer"),
    "removes-the-folder-of-the-server": Target(FAR_ABOVE, ended="died", told="without an answer"),
}
RAISES = {
    "fails-at-import": Target("raise ValueError('no luck')", told="fails: ValueError: no luck"),
    "exits-at-import": Target("sys.exit('bye')", ended="raised|returned", told="SystemExit: bye"),
    "interrupts-at-import": Target("raise KeyboardInterrupt", ended="raised|returned", told="KeyboardInterrupt"),
    "interrupts": Target(then="raise KeyboardInterrupt", told="KeyboardInterrupt"),
    "exits": Target(then="sys.exit('bye')", told="SystemExit: bye"),
    "raises-its-own": Target(OWN, "raise Own('x')", told="Own: x"),
    "raises-what-has-no-words": Target(MUTE, "raise Mute", ended="raised|returned", told="Mute|no words"),
    "recurses": Target(then="return total(x)", told="RecursionError"),
    "recurses-in-getattr": Target(MODULE_GETATTR, "sys.modules[__name__].nothing", told="RecursionError"),
    "breaks-the-builtins": Target("builtins.isinstance = None", ended="raised", told="TypeError: 'NoneType' object"),
    "breaks-json": Target("json.dumps = None", ended="raised", told="TypeError: 'NoneType' object"),
    "allows-no-depth": Target("sys.setrecursionlimit(90)", ended="raised|returned", comes_through=None),
    "raises-in-a-tracer": Target(TRACER, ended="raised|returned", comes_through=None),
    "untraces": Target(then="sys.settrace(None)", comes_through=None),
}
GOES_ON = {
    "forks-30": Target("for _ in range(30):\n    if os.fork() == 0:\n        time.sleep(1000)", comes_through=True),
    "forks-and-both-go-on": Target("os.fork()", comes_through=True),
    "daemonises": Target(DAEMON, comes_through=True),
    "hops": Target(HOPPER, comes_through=True),
    "starts-threads": Target(
        "for _ in range(3):\n    threading.Thread(target=time.sleep, args=(1000,)).start()", comes_through=True
    ),
    "closes-all-files": Target("os.closerange(0, 1 << 16)", comes_through=True),
    "leaks-all-files": Target(LEAK, comes_through=None),
    "removes-its-folder": Target("shutil.rmtree(os.getcwd())", comes_through=True),
    "goes-elsewhere": Target("os.chdir('/')", comes_through=True),
    "floods": Target(
        "for _ in range(8000):\n    print('out' * 333)\n    print('err' * 333, file=sys.stderr)", comes_through=True
    ),
    "reads-stdin": Target("assert sys.stdin.read() == ''", comes_through=True),
    "closes-stdout": Target("sys.stdout.close()\nsys.stderr = None", comes_through=True),
    "replaces-what-writes": Target(
        "builtins.open = builtins.print = torch.save = torch.load = os.write = os.open = None\n"
        "os._exit = sys.exit = lambda *_: None",
        comes_through=True,
    ),
    "imports-itself": Target(SELF, comes_through=True),
    "forges": Target(FAKE, comes_through=True),
}
TARGETS = HANGS | ENDS | RAISES | GOES_ON
KILLERS = {"killed": "os.kill(os.getppid(), signal.SIGKILL)", "held": "os.kill(os.getppid(), signal.SIGSTOP)"}
CONSTRUCTORS = {
    "time.sleep(1000)": "the search for values timed out: ",
    "os._exit(3)": "the search for values died: it ended with exit status 3 and without an answer",
    "builtins.len = None; raise ValueError": "the search for values raised: TypeError: 'NoneType' object is not",
}
"""What a constructor does, and the reason in words. Of a finding about what it makes, no part is executed by itself."""


@pytest.fixture(scope="module", autouse=True)
def mark() -> Iterator[str]:
    """A word in the environment of all that is started here."""
    word = f"hostile-{secrets.token_hex(8)}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARK, word)
        yield word


@pytest.fixture(scope="module")
def server(mark: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server() as server:
        assert asked(server, Target(), tmp_path_factory.mktemp("plain")).value["program"] == 0
        yield server
    assert marked(mark) == []


def marked(word: str, within: float = 3.0, besides: int = 0) -> list[int]:
    """The processes with `word` in their environment or arguments, once they are not more than `besides`."""
    deadline = time.monotonic() + within
    while len(found := list(_marked(word))) > besides and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def _marked(word: str) -> Iterator[int]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if word.encode() in text and int(folder.name) != os.getpid():
            yield int(folder.name)


def request(path: Path, seconds: float, memory: int = 8 << 30) -> dict[str, Any]:
    """Of the search for values for the flagged function."""
    rows = path.read_text().splitlines() if path.exists() else [FLAGGED]
    row = next((number for number, line in enumerate(rows, 1) if FLAGGED in line), 1)
    return {
        "finding": {"path": str(path), "code": "TDL014", "at": [row, 16, row], "notes": [], "silent": False},
        "mode": "operation",
        "rung": "synthesised",
        "device": "simulated",
        "accelerators": 2,
        "seconds": seconds,
        "memory": memory,
        "examples": {},
        "paths": [str(path.parent)],
        "do": "find",
    }


def asked(server: Server, target: Target, folder: Path, seconds: float = 20.0, memory: int = 8 << 30) -> Answer:
    path = folder / "target.py"
    path.write_text(target.source)
    return server.ask(request(path, seconds, memory))


def told(answer: Answer) -> str:
    return answer.detail if answer.ended != "returned" else answer.value.get("why", "")


def findings(folder: Path, target: Target) -> list[Diagnostic]:
    """What the linter says of a target: the finding that `request` makes up elsewhere."""
    (folder / "target.py").write_text(target.source)
    return list(check_paths([str(folder / "target.py")], Settings()).diagnostics)


def appears(note: Path, within: float = 60.0) -> None:
    deadline = time.monotonic() + within
    while not note.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert note.exists()


@pytest.mark.parametrize("name", a_part(TARGETS, of=10))
def test_every_target_gets_its_answer_and_leaves_nothing(server: Server, mark: str, tmp_path: Path, name: str) -> None:
    target = TARGETS[name]
    began = time.monotonic()
    answer = asked(server, target, tmp_path, seconds=1.0 if name in HANGS else 20.0)
    assert re.fullmatch(target.ended, answer.ended), answer
    assert re.search(target.told, told(answer)), answer
    assert time.monotonic() - began < 20.0
    if target.comes_through:
        assert answer.value["program"] == 0, answer
    elif answer.ended == "returned" and target.comes_through is False:
        assert answer.value["program"] is None
    assert server.process is not None
    left = marked(mark, besides=2)
    assert len(left) == 2, "the server and its guard"
    assert server.process.pid in left


def test_the_linter_finds_in_each_what_is_asked_for_here(tmp_path: Path) -> None:
    for name, target in TARGETS.items():
        (tmp_path / f"{name}.py").write_text(target.source)
    settings = Settings(extend_select=("TDL014",))  # advice in an application that imports by names which are texts
    found = check_paths(sorted(map(str, tmp_path.iterdir())), settings).diagnostics
    assert {Path(one.filename).stem: (one.code, one.span.row) for one in found} == {
        name: ("TDL014", request(tmp_path / f"{name}.py", 1.0)["finding"]["at"][0]) for name in TARGETS
    }
    assert len(found) == len(TARGETS)


def test_after_all_of_them_the_server_is_the_same_and_works(server: Server, tmp_path: Path) -> None:
    assert asked(server, Target(), tmp_path).value["program"] == 0
    process = server.process
    asked(server, ENDS["segfaults"], tmp_path)
    assert asked(server, Target(), tmp_path).value["program"] == 0
    assert server.process is process


def test_folders_are_removed(server: Server, tmp_path: Path) -> None:
    writes = "open('left', 'w').write('x')\nimport tempfile\nassert 'torchdevlint-' in tempfile.mkdtemp()"
    assert asked(server, Target(writes), tmp_path).value["program"] == 0
    asked(server, ENDS["exits-0"], tmp_path)
    assert server.folder is not None
    assert list(server.folder.iterdir()) == []


def test_of_a_flood_the_end_is_kept(server: Server, tmp_path: Path) -> None:
    answer = asked(server, GOES_ON["floods"], tmp_path)
    assert 0 < len(answer.output) <= 4000


def test_memory_is_limited(server: Server, tmp_path: Path) -> None:
    hog = Target("hog = []\nwhile True: hog.append(bytearray(20_000_000))")
    answer = asked(server, hog, tmp_path, memory=300 * MIB)
    assert answer.ended in ("returned", "died")
    assert "MemoryError" in told(answer) or answer.ended == "died"


def test_recursion_without_a_limit_ends(server: Server, tmp_path: Path) -> None:
    deep = Target("sys.setrecursionlimit(1 << 30)", "return total(x)")
    assert told(asked(server, deep, tmp_path, seconds=2.0, memory=300 * MIB))


def test_an_answer_that_is_too_large_is_refused(server: Server, tmp_path: Path) -> None:
    harness = "sys.modules['torchdevlint.runtime.execute.perform']"
    found = "types.SimpleNamespace(runs=1, values='x' * (2 << 20), later='')"
    answer = asked(server, Target(f"import types\n{harness}.search = lambda *_: {found}"), tmp_path)
    assert (answer.ended, answer.detail) == ("died", "its answer was too large")


def test_a_file_that_vanishes_or_changes_gets_an_answer(server: Server, tmp_path: Path) -> None:
    assert re.search("target.py", told(server.ask(request(tmp_path / "target.py", 20.0))))
    (tmp_path / "target.py").write_text("def total(x:\n")
    answer = server.ask(request(tmp_path / "target.py", 20.0))
    assert answer.ended == "raised"
    assert answer.detail.startswith("SyntaxError: ")
    (tmp_path / "target.py").write_text("x = 1\n")
    assert told(server.ask(request(tmp_path / "target.py", 20.0)))


def test_what_raises_in_the_harness_itself_is_told_in_the_reasons(server: Server, tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, RAISES["breaks-the-builtins"])
    climbed = climb(finding, Order(), server)
    assert climbed.reasons
    assert climbed.reasons[0][0] is Rung.SYNTHESISED
    assert climbed.reasons[0][1].startswith("the search for values raised: TypeError: 'NoneType' object")


@pytest.mark.parametrize("name", a_part(KILLERS))
def test_who_ends_the_server_ends_too(server: Server, mark: str, tmp_path: Path, name: str) -> None:
    """What has left the process group and has an empty environment is found as well."""
    began = time.monotonic()
    target = Target(f"{DAEMON}time.sleep(0.2)\n{KILLERS[name]}\ntime.sleep(1000)")
    answer = asked(server, target, tmp_path)
    assert (answer.ended, answer.detail) == ("died", "the process that executes was ended from inside")
    assert time.monotonic() - began < 30.0
    assert marked(mark, within=0.0) == []


def test_a_server_that_has_ended_between_two_requests_is_replaced(server: Server, tmp_path: Path) -> None:
    process = server._running()[0]
    assert process is not None
    process.kill()
    process.wait()
    assert asked(server, Target(), tmp_path).value["program"] == 0


def test_the_end_of_a_server_wakes_who_waits_for_its_answer(server: Server, tmp_path: Path) -> None:
    """This is what an interrupt does: it comes to the main thread, and other threads ask."""
    answers: list[Answer] = []
    note = tmp_path / "note"
    hang = Target(f"open({str(note)!r}, 'w').close()\ntime.sleep(1000)")
    thread = threading.Thread(target=lambda: answers.append(asked(server, hang, tmp_path, seconds=300.0)))
    thread.start()
    appears(note)
    began = time.monotonic()
    server.stop()
    thread.join(5.0)
    assert time.monotonic() - began < 5.0
    assert [answer.ended for answer in answers] == ["died"]


def test_after_its_end_a_server_starts_no_process(tmp_path: Path) -> None:
    with Server() as ended:
        pass
    answer = asked(ended, Target(), tmp_path)
    assert (answer.ended, answer.detail) == ("died", "the run was stopped")
    assert ended.process is None


@pytest.mark.slow
def test_without_fork_an_answer_cannot_be_printed_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows: the code shares the process, and its stdout, with what answers."""
    word, start = secrets.token_hex(8), subprocess.Popen

    def without_fork(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        body = "import os; del os.fork; from torchdevlint.runtime.execute import serve; serve.main()"
        return start([command[0], "-c", body, command[-1]], **options)

    monkeypatch.setattr(subprocess, "Popen", without_fork)
    monkeypatch.setenv(MARK, word)
    with Server() as server:
        answer = asked(server, Target(FAKE + "assert sys.stdin.read() == ''"), tmp_path)
    assert answer.value["program"] == 0, answer
    assert marked(word) == []


@pytest.mark.slow
def test_servers_are_forks_of_one_process_and_outlive_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not can_fork():
        pytest.skip("this system has no open files that stand for processes")
    word = secrets.token_hex(8)
    monkeypatch.setenv(MARK, word)
    alone = Target(
        "leads = [os.path.realpath(f'/proc/self/fd/{number}') for number in os.listdir('/proc/self/fd')]\n"
        "assert not [each for each in leads if 'socket:' in each or 'pidfd' in each], leads\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    )
    with ForkServer() as above, Server(above=above) as one, Server(above=above) as other:
        assert asked(one, alone, tmp_path).value["program"] == 0
        process = above.process
        assert asked(other, alone, tmp_path).value["program"] == 0
        assert process is not None
        assert above.process is process
        assert one.process is not None
        assert other.process is not None
        assert one.process.pid != other.process.pid

        process.kill()
        process.wait()
        assert asked(one, Target(), tmp_path).value["program"] == 0, "it does not need the process above"
        other.process.kill()
        other.process.wait(10)
        assert asked(other, Target(), tmp_path).value["program"] == 0
        assert above.process is not process, "another one was started"
    assert marked(word) == []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder for targets, with one for temporary files next to it."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


JSON = ("--output-format", "json", "--extend-select", "TDL014")
"""What is advice in an application, some of whose files are imported by names that are texts, is asked for."""


def verify(*arguments: str, project: Path, word: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "torchdevlint", "verify", *JSON, *arguments],
        cwd=project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "TMPDIR": str(project.parent / "tmp"), MARK: word},
    )


@pytest.mark.slow
def test_a_run_over_many_has_a_verdict_for_each_and_leaves_nothing(project: Path) -> None:
    """What comes to no call is shown by the slice, which does without the import."""
    few = ("loops", "computes-in-c", "exits-at-import", "raises-what-has-no-words", "breaks-the-builtins")
    targets = {**ENDS, **GOES_ON, **{name: TARGETS[name] for name in few}}
    for name, target in targets.items():
        (project / f"{name.replace('-', '_')}.py").write_text(target.source)
    (project / "kills_the_server.py").write_text(Target(f"{KILLERS['killed']}\ntime.sleep(1000)").source)
    (project / "model.py").write_text(
        "import os\n\nimport torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.inner = torch.nn.Linear(3, 3)\n        os._exit(0)\n\n"
        "    def forward(self, x):\n        return self.inner(x) + torch.ones(3)\n"
    )
    for number, act in enumerate(CONSTRUCTORS):
        (project / f"constructor_{number}.py").write_text(
            "import builtins\nimport os\nimport time\n\nimport torch\n\n\ndef act():\n"
            f"    {act}\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.layers = [torch.nn.Linear(3, 3)]\n        act()\n\n"
            "    def forward(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n"
        )
    word = secrets.token_hex(8)
    process = verify("--timeout", "3", "--jobs", "2", project=project, word=word)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (1, "")
    rows = {row["filename"]: row for row in json.loads(out)}
    assert len(rows) == len(json.loads(out)) == len(list(project.iterdir()))
    for name, target in targets.items():
        row = rows[f"{name.replace('-', '_')}.py"]
        assert (row["code"], row["verdict"]) == ("TDL014", "confirmed"), row
        if target.comes_through is not None:
            assert row["rung"] == ("synthesised" if target.comes_through else "slice"), row
    assert (rows["kills_the_server.py"]["verdict"], rows["kills_the_server.py"]["rung"]) == ("confirmed", "slice")
    assert (rows["model.py"]["code"], rows["model.py"]["verdict"]) == ("TDL003", "confirmed")
    for number, reason in enumerate(CONSTRUCTORS.values()):
        row = rows[f"constructor_{number}.py"]
        assert (row["code"], row["verdict"]) == ("TDL102", "inconclusive")
        assert any(each["reason"].startswith(reason) for each in row["reasons"]), row["reasons"]
    assert marked(word) == []
    assert list((project.parent / "tmp").glob("torchdevlint-*")) == []


@pytest.mark.slow
def test_an_interrupt_ends_all_quickly_and_in_one_word(project: Path) -> None:
    notes = [project.parent / f"note_{number}" for number in range(2)]
    for number, note in enumerate(notes):
        hang = Target(f"{DAEMON}open({str(note)!r}, 'w').close()\ntime.sleep(1000)")
        (project / f"hang_{number}.py").write_text(hang.source)
    (project / "waiting.py").write_text(HANGS["loops"].source)
    word = secrets.token_hex(8)
    process = verify("--timeout", "300", "--jobs", "2", project=project, word=word)
    for note in notes:
        appears(note)
    assert len(marked(word, within=0.0)) >= 2
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 8.0
    assert (process.returncode, out, err.strip()) == (130, "", "interrupted")
    assert marked(word) == []
    assert list((project.parent / "tmp").glob("torchdevlint-*")) == []


def test_when_the_parent_is_killed_all_ends_itself(tmp_path: Path) -> None:
    note, word = tmp_path / "note", secrets.token_hex(8)
    path = tmp_path / "target.py"
    path.write_text(Target(f"{DAEMON}open({str(note)!r}, 'w').close()\ntime.sleep(1000)").source)
    program = (
        "import json, sys\nfrom torchdevlint.runtime.verify.forked import ForkServer\n"
        "from torchdevlint.runtime.verify.server import Server\n"
        "Server(above=ForkServer()).ask(json.loads(sys.argv[1]))\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, json.dumps(request(path, 300.0))],
        env={**os.environ, "PYTHONPATH": str(ROOT), MARK: word, "TMPDIR": str(tmp_path)},
    )
    appears(note)
    least = 5 if can_fork() else 4
    assert len(marked(word, within=0.0)) >= least, "parent, fork server, guard, server, child and what that has started"
    parent.kill()
    parent.wait(timeout=10)
    assert marked(word, within=10.0) == []
    assert list(tmp_path.glob("torchdevlint-*")) == []
