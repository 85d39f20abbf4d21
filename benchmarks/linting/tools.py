"""The linters: how each is started, with one worker and without a cache, and which code it is given."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import corpus
from corpus import CorpusError

OURS = "torchdevlint"
COMPILED = f"{OURS}, compiled"
FLAKE8, PLUGIN = "flake8", "flake8 with torchdevlint"
RUFF = "ruff"
PEERS = ("torchfix", "torch-preflight", FLAKE8, RUFF)
_ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {
    "RAYON_NUM_THREADS": "1",
    "TERM": "dumb",
    "PYTHONDONTWRITEBYTECODE": "",
    "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")])),
}
"""One thread for tools without a flag for it (ruff), byte code is kept as usual, and this checkout is what is run."""


@dataclass(frozen=True)
class Tool:
    """A linter: the command that precedes the paths, the one that prints its version, and what it exits with.

    A target of more than `most_lines` is not given to it unless that is asked for: it would take minutes.
    """

    name: str
    command: tuple[str, ...]
    version: tuple[str, ...]
    good_exits: tuple[int, ...] = (0, 1)
    most_lines: int | None = None
    keeps_results: bool = False
    """It cannot be told to leave the current folder without a cache."""


@dataclass(frozen=True)
class Target:
    """Code to lint: a title for the tables, its place and its size."""

    title: str
    path: Path
    files: int
    lines: int

    def __str__(self) -> str:
        return f"{self.title}: {self.files:,} files, {self.lines:,} lines"


def ours(*arguments: str) -> tuple[str, ...]:
    """The command of this project's linter, without a configuration file."""
    return (sys.executable, "-m", OURS, "check", "--isolated", "--output-format", "concise", *arguments)


def ruff(*arguments: str) -> tuple[str, ...]:
    """The command of ruff, which pip installs beside the interpreter."""
    path = Path(sys.executable).parent / RUFF
    return (str(path) if path.exists() else RUFF, *arguments)


def chosen(peers: str, python: str, compiled: str | None = None) -> list[Tool]:
    """This linter and the `peers`, a list with commas; those that need no plugin of ours are started by `python`.

    `compiled` is an interpreter that has a compiled wheel of this linter, which is then timed as well.
    """
    names = [name.strip() for name in peers.split(",") if name.strip()]
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise CorpusError(f"unknown peer {', '.join(unknown)} (known: {', '.join(PEERS)})")
    known = {tool.name: tool for tool in _known(python)}
    wanted = [OURS, *names, *([PLUGIN] if FLAKE8 in names else [])]
    tools = [tool for name, tool in known.items() if name in wanted]
    return [*tools[:1], *([_compiled(compiled)] if compiled else []), *tools[1:]]


def _compiled(python: str) -> Tool:
    """The linter that `python` has installed, which is looked at: isolated, it does not see this checkout."""
    run = (python, "-I", "-m", OURS)
    where = "import importlib.util as util; print(util.find_spec('torchdevlint.flow.state.machine').origin)"
    found = subprocess.run((python, "-I", "-c", where), capture_output=True, text=True, check=False).stdout.strip()
    if not found or found.endswith(".py"):
        raise CorpusError(f"{python} has no compiled {OURS}")
    given = ("check", "--isolated", "--output-format", "concise", "--no-cache", "--jobs", "1")
    return Tool(COMPILED, (*run, *given), (*run, "--version"))


def _known(python: str) -> list[Tool]:
    fix, preflight = (python, "-m", "torchfix"), (python, "-m", "torch_preflight")
    alone, both = (
        (sys.executable, str(Path(__file__).with_name("lone_flake8.py")), kept)
        for kept in ("flake8,mccabe", f"flake8,mccabe,{OURS}")
    )
    isolated = ("--isolated", "--jobs", "1")
    return [
        Tool(OURS, ours("--no-cache", "--jobs", "1"), (sys.executable, "-m", OURS, "--version")),
        Tool("torchfix", (*fix, "--jobs", "1"), (*fix, "--version"), (0,), 100_000),
        Tool("torch-preflight", (*preflight, "check"), (*preflight, "--version"), most_lines=50_000),
        Tool(FLAKE8, (*alone, *isolated), (*alone, "--version"), most_lines=50_000),
        Tool(PLUGIN, (*both, *isolated), (*both, "--version"), most_lines=50_000, keeps_results=True),
        Tool(RUFF, ruff("check", "--isolated", "--no-cache"), ruff("--version")),
    ]


def with_jobs(jobs: int) -> Tool:
    """This linter with several worker processes."""
    return Tool(f"{OURS} --jobs {jobs}", ours("--no-cache", "--jobs", str(jobs)), ())


def worker_counts() -> list[int]:
    """The numbers of workers beyond one that are tried: powers of two up to the number of cores, and that itself."""
    cores = os.cpu_count() or 1
    return sorted({2**power for power in range(1, cores.bit_length())} | {cores} - {1})


def target(name: str, cache: Path) -> Target:
    """`name` as a path if there is one, else as a pinned release."""
    path, title = Path(name), name
    if not path.exists():
        (release,) = corpus.select(corpus.load(_ROOT / "scripts" / "ecosystem"), [name], "all")[:1]
        path, title = corpus.folder(release, cache), f"{release.name} {release.version}"
    return measure(title, path.resolve())


def measure(title: str, path: Path) -> Target:
    """The files and lines under `path` counted; no more than one file is held in memory."""
    sizes = [corpus.count_lines(file.read_bytes()) for file in corpus.python_files(path)]
    return Target(title, path, len(sizes), sum(sizes))


def version(tool: Tool) -> str:
    """What the tool calls itself, in one line."""
    env = {**os.environ, **ENVIRONMENT}
    done = subprocess.run(tool.version, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise CorpusError(f"{tool.name} does not start: {' '.join(done.stderr.strip().splitlines()[-1:])}")
    return " ".join(done.stdout.split()).removeprefix(f"{tool.name} ").removeprefix("version ")
