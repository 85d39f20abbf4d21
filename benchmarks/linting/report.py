"""What was measured as tables: for the terminal, for the page, and what the project wants beside what it has."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tables

from linting.plot import Group, bar_chart
from linting.scenarios import CHANGED, HOOK_FILES, RUFF_WITHOUT, SAME, Measured
from linting.timing import Pace, Timing
from linting.tools import FLAKE8, OURS, PLUGIN, RUFF, Target

COLD_HEADER = ("tool", "x ours", "us/line", "wall s", "range", "cpu s", "peak MiB", "rounds")
WARM_HEADER = ("run", "x first row", "wall ms", "cpu ms", "peak MiB", "rounds")
PARTS_HEADER = ("files", "us/line x smallest", "us/line", "wall s", "count", "lines", "rounds")
CORES_HEADER = ("workers", "speed-up", "wall s", "cpu s", "largest process MiB", "rounds")
GOALS_HEADER = ("goal", "on", "measured", "met")
PLOT_TITLE, PLOT_UNIT = "Linting everything, nothing cached", "microseconds a line"
FOLD_OF_TORCHFIX, SLOWER_KINDS, FOLD_OF_SLOWER_KINDS = 15, ("torch_geometric", "diffusers"), 10
FOLD_OF_PREFLIGHT = 10


@dataclass(frozen=True)
class Section:
    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


@dataclass(frozen=True)
class Goal:
    """What the project wants of one number, which is to be at most, or at least, `limit`."""

    text: str
    where: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def sections(of: Measured) -> list[Section]:
    """All tables, the goals first."""
    title, staged = of.largest.title, min(HOOK_FILES, of.largest.files)
    return [
        Section(
            "Goals", GOALS_HEADER, [(g.text, g.where, f"{g.value:.2f}", "yes" if g.met else "no") for g in goals(of)]
        ),
        *(Section(f"Cold, {target}", COLD_HEADER, cold_rows(target, found)) for target, found in of.cold),
        Section(f"Warm, {title}", WARM_HEADER, short_rows(of.warm)),
        Section(f"As a commit hook, {staged} files of {title}", WARM_HEADER, short_rows(of.hook)),
        Section("Start-up", WARM_HEADER, short_rows(of.start_up)),
        Section("More lines: parts of one release", PARTS_HEADER, part_rows(of.parts)),
        Section(f"More workers, {title}", CORES_HEADER, core_rows(workers(of))),
    ]


def cold_rows(target: Target, timings: Sequence[Timing]) -> list[tuple[str, ...]]:
    ours = timings[0]
    return [
        (
            each.name,
            f"{each.wall / ours.wall:.2f}",
            f"{per_line(target, each):.1f}",
            f"{each.wall:.2f}",
            each.span,
            f"{each.cpu:.2f}",
            f"{each.peak / 2**20:.0f}",
            str(len(each.rounds)),
        )
        for each in timings
    ]


def short_rows(timings: Sequence[Timing]) -> list[tuple[str, ...]]:
    first = timings[0]
    return [
        (
            each.name,
            f"{each.wall / first.wall:.2f}",
            f"{1e3 * each.wall:.0f}",
            f"{1e3 * each.cpu:.0f}",
            f"{each.peak / 2**20:.0f}",
            str(len(each.rounds)),
        )
        for each in timings
    ]


def part_rows(parts: Sequence[tuple[Target, Timing]]) -> list[tuple[str, ...]]:
    smallest = per_line(*parts[0])
    return [
        (
            part.title,
            f"{per_line(part, each) / smallest:.2f}",
            f"{per_line(part, each):.1f}",
            f"{each.wall:.2f}",
            f"{part.files:,}",
            f"{part.lines:,}",
            str(len(each.rounds)),
        )
        for part, each in parts
    ]


def core_rows(timings: Mapping[int, Timing]) -> list[tuple[str, ...]]:
    return [
        (
            str(count),
            f"{timings[1].wall / each.wall:.2f}",
            f"{each.wall:.2f}",
            f"{each.cpu:.2f}",
            f"{each.peak / 2**20:.0f}",
            str(len(each.rounds)),
        )
        for count, each in timings.items()
    ]


def per_line(target: Target, timing: Timing) -> float:
    """Microseconds of wall time."""
    return 1e6 * timing.wall / max(target.lines, 1)


def workers(of: Measured) -> dict[int, Timing]:
    """The runs on the largest target by the number of workers."""
    prefix = f"{OURS} --jobs "
    found = _named(next(timings for target, timings in of.cold if target == of.largest))
    more = {int(name.removeprefix(prefix)): each for name, each in found.items() if name.startswith(prefix)}
    return {1: found[OURS], **more}


def goals(of: Measured) -> list[Goal]:
    """The goals that this run has numbers for."""
    found = [goal for target, timings in of.cold for goal in _cold_goals(target, _named(timings))]
    title, warm, by_workers = str(of.largest), _named(of.warm), workers(of)
    again, changed = warm[f"{OURS}, {SAME}"].wall, warm[f"{OURS}, {CHANGED}"].wall
    if RUFF_WITHOUT in warm:
        cached = again / warm[f"{RUFF}, {SAME}"].wall
        found += [
            Goal("nothing changed: at most 2 times ruff's time with its cache", title, cached, 2),
            Goal("nothing changed: at most 2 times ruff's time without", title, again / warm[RUFF_WITHOUT].wall, 2),
        ]
    found += [
        Goal("one file changed: at most 0.5 seconds", title, changed, 0.5),
        Goal("a worker takes at most 300 MB", title, max(each.peak for each in by_workers.values()) / 1e6, 300),
    ]
    (part, smallest), (whole, all_of_it) = of.parts[0], of.parts[-1]
    growth = per_line(whole, all_of_it) / per_line(part, smallest)
    lines = f"{part.lines:,} and {whole.lines:,} lines"
    found.append(Goal("8 times the files: at most 1.25 times as long a line", lines, growth, 1.25))
    if 2 in by_workers:
        gain = by_workers[1].wall / by_workers[2].wall
        found.append(Goal("two workers: at least 1.8 times as fast", title, gain, 1.8, at_least=True))
    return found


def _cold_goals(target: Target, found: Mapping[str, Timing]) -> list[Goal]:
    fold = FOLD_OF_SLOWER_KINDS if target.title.startswith(SLOWER_KINDS) else FOLD_OF_TORCHFIX
    compared = [
        (f"at least {fold} times as fast as torchfix", "torchfix", OURS, fold, True),
        (
            f"at least {FOLD_OF_PREFLIGHT} times as fast as torch-preflight",
            "torch-preflight",
            OURS,
            FOLD_OF_PREFLIGHT,
            True,
        ),
        ("as a plugin: at most 1.10 times flake8 alone", PLUGIN, FLAKE8, 1.1, False),
        ("as a plugin, nothing changed: at most 1.10 times flake8 alone", f"{PLUGIN}, {SAME}", FLAKE8, 1.1, False),
    ]
    return [
        Goal(text, target.title, found[name].wall / found[beside].wall, limit, at_least)
        for text, name, beside, limit, at_least in compared
        if name in found and beside in found
    ]


def _named(timings: Sequence[Timing]) -> dict[str, Timing]:
    return {timing.name: timing for timing in timings}


def terminal(of: Measured, versions: Mapping[str, str], pace: Pace) -> str:
    return _joined(of, surroundings(versions, pace), "", tables.columns)


def markdown(of: Measured, versions: Mapping[str, str], pace: Pace, plot: str) -> str:
    """The tables, and a reference to the file called `plot`."""
    image = f"![{PLOT_TITLE}: {PLOT_UNIT}]({plot})"
    return _joined(of, f"{surroundings(versions, pace)}\n\n{image}", "### ", tables.markdown)


def _joined(of: Measured, head: str, mark: str, table: Callable[..., str]) -> str:
    shown = [f"{mark}{section.title}\n\n{table(section.header, section.rows)}" for section in sections(of)]
    return "\n\n".join([head, *shown])


def chart(of: Measured) -> str:
    """The cold runs as SVG."""
    groups = [
        Group(str(target), tuple((each.name, per_line(target, each)) for each in timings))
        for target, timings in of.cold
    ]
    return bar_chart(PLOT_TITLE, PLOT_UNIT, groups)


def surroundings(versions: Mapping[str, str], pace: Pace) -> str:
    tools = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.machine()}, "
        f"{_processor()}, {os.cpu_count()} cores; medians of {pace.rounds} alternating rounds, of one where the first "
        f"took more than {pace.patience:g} seconds; {tools}."
    )


def _processor() -> str:
    """The processor's model where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown processor"
