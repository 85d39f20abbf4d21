"""Time torchdevlint beside other linters on the same code in one run.

    python benchmarks/run.py                          diffusers 0.3.0 from the package index, against TorchFix
    python benchmarks/run.py --peers torchfix,ruff src/ timm==1.0.9
    python benchmarks/run.py --write docs/performance.md

Every tool is started as a user would start it, without a cache and with one worker. Rounds alternate between the
tools, so that a busy machine slows all of them, and the median round counts. Time and memory are those of the whole
process with its children: wall and CPU seconds, and the peak size of the largest process.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import corpus  # noqa: E402
import measured  # noqa: E402
import tables  # noqa: E402
from corpus import CorpusError  # noqa: E402

OURS = "torchdevlint"
DEFAULT_TARGET = "diffusers==0.3.0"


@dataclass(frozen=True)
class Tool:
    """A linter: the command that precedes the paths, the one that prints its version, and what it exits with."""

    name: str
    command: tuple[str, ...]
    version: tuple[str, ...]
    good_exits: tuple[int, ...]


@dataclass(frozen=True)
class Target:
    """Code to lint: a title for the table and its size."""

    title: str
    path: Path
    files: int
    lines: int


@dataclass(frozen=True)
class Timing:
    """All rounds of one tool on one target."""

    tool: Tool
    rounds: tuple[measured.Finished, ...]

    @property
    def wall(self) -> float:
        return statistics.median(done.wall for done in self.rounds)

    @property
    def cpu(self) -> float:
        return statistics.median(done.cpu for done in self.rounds)

    @property
    def peak(self) -> int:
        return max(done.peak for done in self.rounds)


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module, *arguments)


def _beside_python(program: str) -> str:
    """The path of a native program that pip installed next to this interpreter, or its bare name."""
    path = Path(sys.executable).parent / program
    return str(path) if path.exists() else program


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            OURS,
            _python("torchdevlint", "check", "--isolated", "--no-cache", "--jobs", "1", "--output-format", "concise"),
            _python("torchdevlint", "--version"),
            (0, 1),
        ),
        Tool("torchfix", _python("torchfix", "--jobs", "1"), _python("torchfix", "--version"), (0,)),
        Tool("flake8", _python("flake8", "--isolated", "--jobs", "1"), _python("flake8", "--version"), (0, 1)),
        Tool("pyflakes", _python("pyflakes"), _python("pyflakes", "--version"), (0, 1)),
        Tool(
            "ruff",
            (_beside_python("ruff"), "check", "--isolated", "--no-cache"),
            (_beside_python("ruff"), "--version"),
            (0, 1),
        ),
    )
}
ONE_WORKER = {"RAYON_NUM_THREADS": "1", "TERM": "dumb"}
"""Environment that keeps tools without a flag for it (ruff) to one thread."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        tools = _tools(options.peers)
        targets = [_target(name, options.cache) for name in options.targets or [DEFAULT_TARGET]]
        versions = {tool.name: _version(tool) for tool in tools}
        results = [(target, _measure(tools, target, options.rounds)) for target in targets]
        start_up = _start_up(tools, options.rounds)
    except (CorpusError, OSError) as error:
        print(f"benchmark: {error}", file=sys.stderr)
        return 2
    _print(results, start_up, versions)
    if options.write:
        tables.refresh(options.write, "benchmark", _markdown(results, start_up, versions))
    return 0


def _tools(peers: str) -> list[Tool]:
    names = [OURS, *(name.strip() for name in peers.split(",") if name.strip())]
    unknown = [name for name in names if name not in TOOLS]
    if unknown:
        raise CorpusError(f"unknown peer {', '.join(unknown)} (known: {', '.join(sorted(TOOLS))})")
    return [TOOLS[name] for name in dict.fromkeys(names)]


def _target(name: str, cache: Path) -> Target:
    """`name` as a path if there is one, else as a pinned release."""
    path = Path(name)
    title = name
    if not path.exists():
        (release,) = corpus.select(corpus.load(ROOT / "scripts" / "ecosystem"), [name], "all")[:1]
        path, title = corpus.folder(release, cache), f"{release.name} {release.version}"
    texts = [file.read_bytes() for file in corpus.python_files(path)]
    return Target(title, path, len(texts), sum(map(corpus.count_lines, texts)))


def _version(tool: Tool) -> str:
    done = subprocess.run(tool.version, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CorpusError(f"{tool.name} does not start: {done.stderr.strip().splitlines()[-1:]}")
    text = " ".join(done.stdout.split())
    return text.removeprefix(f"{tool.name} ").removeprefix("version ")


def _measure(tools: Sequence[Tool], target: Target, rounds: int) -> list[Timing]:
    """The timings of `tools`, after one round that only warms the file system and byte code."""

    def lint(tool: Tool) -> measured.Finished:
        done = measured.run([*tool.command, str(target.path)], extra_env=ONE_WORKER)
        if done.returncode not in tool.good_exits:
            raise CorpusError(f"{tool.name} ended with {done.returncode} on {target.title}: {done.stderr[-500:]}")
        return done

    return _alternate(tools, lint, rounds, target.title)


def _start_up(tools: Sequence[Tool], rounds: int) -> list[Timing]:
    """``--version`` of every tool, and the bare interpreter as the floor."""
    bare = Tool("python -c pass", (), (sys.executable, "-c", "pass"), (0,))
    return _alternate([bare, *tools], lambda tool: measured.run(tool.version), rounds, "start-up")


def _alternate(
    tools: Sequence[Tool], once: Callable[[Tool], measured.Finished], rounds: int, title: str
) -> list[Timing]:
    taken: dict[str, list[measured.Finished]] = {tool.name: [] for tool in tools}
    for number in range(rounds + 1):
        for tool in tools:
            print(f"{title}: round {number}/{rounds} {tool.name}", file=sys.stderr)
            done = once(tool)
            if number:
                taken[tool.name].append(done)
    return [Timing(tool, tuple(taken[tool.name])) for tool in tools]


def _rows(target: Target, timings: Sequence[Timing]) -> list[tuple[str, ...]]:
    ours = timings[0]
    return [
        (
            timing.tool.name,
            f"{timing.wall:.2f}",
            f"{min(done.wall for done in timing.rounds):.2f}-{max(done.wall for done in timing.rounds):.2f}",
            f"{timing.cpu:.2f}",
            f"{1e6 * timing.wall / max(target.lines, 1):.1f}",
            f"{1e6 * timing.cpu / max(target.lines, 1):.1f}",
            f"{timing.wall / ours.wall:.2f}",
            f"{timing.cpu / ours.cpu:.2f}",
            f"{timing.peak / 2**20:.0f}",
        )
        for timing in timings
    ]


HEADER = ("tool", "wall s", "range", "cpu s", "us/line wall", "us/line cpu", "x wall", "x cpu", "peak MiB")
START_HEADER = ("--version", "wall ms", "cpu ms", "peak MiB")


def _start_rows(timings: Sequence[Timing]) -> list[tuple[str, ...]]:
    return [(t.tool.name, f"{1e3 * t.wall:.0f}", f"{1e3 * t.cpu:.0f}", f"{t.peak / 2**20:.0f}") for t in timings]


def _surroundings(versions: dict[str, str], rounds: int) -> str:
    tools = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.machine()}, "
        f"{_processor()}, {os.cpu_count()} cores; median of {rounds} alternating rounds; {tools}."
    )


def _processor() -> str:
    """The processor's model where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown processor"


def _size(target: Target) -> str:
    return f"{target.title}: {target.files} files, {target.lines:,} lines"


def _print(results: Sequence[tuple[Target, list[Timing]]], start_up: list[Timing], versions: dict[str, str]) -> None:
    print(_surroundings(versions, len(results[0][1][0].rounds)))
    for target, timings in results:
        print(f"\n{_size(target)}")
        print(tables.columns(HEADER, _rows(target, timings)))
    print("\nstart-up")
    print(tables.columns(START_HEADER, _start_rows(start_up)))


def _markdown(results: Sequence[tuple[Target, list[Timing]]], start_up: list[Timing], versions: dict[str, str]) -> str:
    sections = [_surroundings(versions, len(results[0][1][0].rounds))]
    for target, timings in results:
        sections += [f"### {_size(target)}", tables.markdown(HEADER, _rows(target, timings))]
    sections += ["### Start-up", tables.markdown(START_HEADER, _start_rows(start_up))]
    return "\n\n".join(sections)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"paths or pinned releases; by default {DEFAULT_TARGET}"
    )
    parser.add_argument("--peers", default="torchfix", help="comma-separated: torchfix, flake8, pyflakes, ruff; or ''")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds for each tool; default: %(default)s")
    parser.add_argument("--cache", type=Path, default=corpus.default_cache(), help="where pinned releases are kept")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="also replace the benchmark section of this page")
    return parser


if __name__ == "__main__":
    sys.exit(main())
