"""The ways in which linters are run: on everything, again, after a change, as a commit hook, on nothing, on parts."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import corpus

from linting.timing import Pace, Step, Timing, alternate, once
from linting.tools import OURS, RUFF, Target, Tool, measure, ours, ruff, with_jobs, worker_counts

SAME, CHANGED = "nothing changed", "one file changed"
RUFF_WITHOUT = f"{RUFF} without its cache"
HOOK_FILES = 20
BARE = "python -c pass"
PARTS = (8, 4, 2, 1)
PARTED_LINES = 100_000
"""Parts are taken of the largest target that has no more lines, so that they do not take minutes."""


@dataclass(frozen=True)
class Measured:
    """All of one run; `warm` and `hook` were measured on a copy of the largest target."""

    cold: tuple[tuple[Target, tuple[Timing, ...]], ...]
    warm: tuple[Timing, ...]
    hook: tuple[Timing, ...]
    start_up: tuple[Timing, ...]
    parts: tuple[tuple[Target, Timing], ...]

    @property
    def largest(self) -> Target:
        return largest([target for target, _ in self.cold])


def measure_all(targets: Sequence[Target], tools: Sequence[Tool], pace: Pace, full: bool) -> Measured:
    """Every scenario, one after the other."""
    big = largest(targets)
    cold = tuple((target, measure_cold(target, tools, pace, full, target == big)) for target in targets)
    with_ruff = any(tool.name == RUFF for tool in tools)
    with _copy(big) as copy:
        warm = measure_warm(copy, with_ruff, pace)
        hook = measure_hook(copy, with_ruff, pace)
    return Measured(cold, warm, hook, measure_start_up(tools, pace), measure_parts(_parted(targets), pace))


def largest(targets: Sequence[Target]) -> Target:
    return max(targets, key=lambda target: target.lines)


def measure_cold(
    target: Target, tools: Sequence[Tool], pace: Pace, full: bool, more_workers: bool
) -> tuple[Timing, ...]:
    """Each tool on the whole target with one worker; ours also with more of them if that is asked for.

    Each starts in an empty folder; what keeps results there is run in a folder with them as well.
    """
    given = [tool for tool in tools if full or tool.most_lines is None or target.lines <= tool.most_lines]
    given += map(with_jobs, worker_counts() if more_workers else ())
    with tempfile.TemporaryDirectory() as scratch:
        fresh, kept = Path(scratch, "fresh"), Path(scratch, "kept")
        kept.mkdir()

        def empty() -> None:
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()

        steps = [Step(tool.name, (*tool.command, str(target.path)), tool.good_exits, fresh, empty) for tool in given]
        again = [
            Step(f"{tool.name}, {SAME}", (*tool.command, str(target.path)), tool.good_exits, kept)
            for tool in given
            if tool.keeps_results
        ]
        for step in again:
            once(target.title, step)
        return alternate(target.title, [*steps, *again], pace, warm_up=True)


def measure_warm(copy: Target, with_ruff: bool, pace: Pace) -> tuple[Timing, ...]:
    """The filled cache of each tool, with nothing changed and with a comment added to one file; `copy` is written to.

    The file is of middle length among those that mention torch.
    """
    files = sorted(_torch_files(copy), key=lambda path: path.stat().st_size)
    middle = files[len(files) // 2]

    def change() -> None:
        with middle.open("a", encoding="utf-8") as file:
            file.write("# A line more.\n")

    with tempfile.TemporaryDirectory() as scratch:
        kept = ours("--cache-dir", str(Path(scratch, OURS)))
        commands = {OURS: (*kept, "--jobs", "1", str(copy.path))}
        once("warm", Step("filling the cache", (*kept, str(copy.path))))
        if with_ruff:
            cached = ("check", "--isolated", "--cache-dir", str(Path(scratch, RUFF)), str(copy.path))
            commands[RUFF] = ruff(*cached)
            once("warm", Step("filling the cache of ruff", commands[RUFF]))
        steps = [Step(f"{name}, {SAME}", command) for name, command in commands.items()]
        steps += [
            Step(f"{name}, {CHANGED}", command, before=change if name == OURS else None)
            for name, command in commands.items()
        ]
        if with_ruff:
            steps.append(Step(RUFF_WITHOUT, ruff("check", "--isolated", "--no-cache", str(copy.path))))
        return alternate("warm", steps, pace)


def measure_hook(copy: Target, with_ruff: bool, pace: Pace) -> tuple[Timing, ...]:
    """What pre-commit starts for some changed files of a project, evenly taken from those that mention torch."""
    files = _torch_files(copy)
    staged = tuple(str(path) for path in files[:: max(len(files) // HOOK_FILES, 1)][:HOOK_FILES])
    with tempfile.TemporaryDirectory() as scratch:
        kept = ours("--force-exclude", "--cache-dir", scratch, *staged)
        steps = [
            Step(f"{OURS}, cold", ours("--force-exclude", "--no-cache", *staged), cwd=copy.path),
            Step(f"{OURS}, {SAME}", kept, cwd=copy.path),
        ]
        if with_ruff:
            steps.append(Step(RUFF_WITHOUT, ruff("check", "--isolated", "--no-cache", *staged), cwd=copy.path))
        once("commit hook", steps[1])
        return alternate("commit hook", steps, pace)


def measure_start_up(tools: Sequence[Tool], pace: Pace) -> tuple[Timing, ...]:
    """``--version`` of every tool, an empty folder and one small file; the bare interpreter is the floor."""
    with tempfile.TemporaryDirectory() as scratch:
        empty, file = Path(scratch, "empty"), Path(scratch, "one.py")
        empty.mkdir()
        file.write_text("import torch\n\nx = torch.zeros(3)\n", encoding="utf-8")
        (own,) = (tool for tool in tools if tool.name == OURS)
        steps = [Step(BARE, (sys.executable, "-c", "pass"))]
        steps += [Step(f"{tool.name} --version", tool.version) for tool in tools]
        steps += [
            Step(f"{OURS}, empty folder", (*own.command, str(empty))),
            Step(f"{OURS}, one file", (*own.command, str(file))),
        ]
        return alternate("start-up", steps, pace)


def measure_parts(target: Target, pace: Pace) -> tuple[tuple[Target, Timing], ...]:
    """An eighth, a quarter, half and all of the target's files, every so manieth of them, in the same folders."""
    with tempfile.TemporaryDirectory() as scratch:
        parts = [_part(target, Path(scratch, str(share)), share) for share in PARTS]
        steps = [Step(part.title, ours("--no-cache", "--jobs", "1", str(part.path))) for part in parts]
        return tuple(zip(parts, alternate(f"parts of {target.title}", steps, pace), strict=True))


def _part(target: Target, place: Path, share: int) -> Target:
    root = target.path if target.path.is_dir() else target.path.parent
    for file in corpus.python_files(target.path)[::share]:
        copied = place / file.relative_to(root)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copied)
    return measure("all" if share == 1 else f"1/{share}", place)


def _parted(targets: Sequence[Target]) -> Target:
    small = [target for target in targets if target.lines <= PARTED_LINES]
    return largest(small) if small else min(targets, key=lambda target: target.lines)


def _torch_files(target: Target) -> list[Path]:
    """The files that mention torch, or all of them where none does."""
    files = corpus.python_files(target.path)
    return [path for path in files if b"torch" in path.read_bytes()] or files


@contextmanager
def _copy(target: Target) -> Iterator[Target]:
    """The target's Python files in a temporary folder, where they may be changed."""
    with tempfile.TemporaryDirectory() as scratch:
        yield _part(target, Path(scratch, "tree"), 1)
