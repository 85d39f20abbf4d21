"""Rounds that alternate between commands, so that a busy machine slows all of them, and what the median says."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import measured
from corpus import CorpusError

from linting.tools import ENVIRONMENT


@dataclass(frozen=True)
class Step:
    """A command to time, and what is done before each of its rounds, untimed."""

    name: str
    command: tuple[str, ...]
    good_exits: tuple[int, ...] = (0, 1)
    cwd: Path | None = None
    before: Callable[[], None] | None = None


@dataclass(frozen=True)
class Pace:
    """How many rounds count; what takes longer than `patience` seconds is not run again."""

    rounds: int
    patience: float


@dataclass(frozen=True)
class Timing:
    """The rounds of one command that count. `wall` and `cpu` are medians of seconds, `peak` the largest, in bytes."""

    name: str
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

    @property
    def span(self) -> str:
        """The fastest and the slowest round."""
        walls = [done.wall for done in self.rounds]
        return f"{min(walls):.2f}-{max(walls):.2f}"


def alternate(title: str, steps: Sequence[Step], pace: Pace, warm_up: bool = False) -> tuple[Timing, ...]:
    """All `steps` in turn. A round of `warm_up` comes first, and counts for steps that have no other."""
    taken: dict[str, list[measured.Finished]] = {step.name: [] for step in steps}
    for number in range(0 if warm_up else 1, pace.rounds + 1):
        for step in steps:
            rounds = taken[step.name]
            if rounds and rounds[0].wall > pace.patience:
                continue
            print(f"{title}: round {number}/{pace.rounds} {step.name}", file=sys.stderr)
            rounds.append(once(title, step))
    return tuple(
        Timing(name, tuple(rounds[1:] if warm_up and len(rounds) > 1 else rounds)) for name, rounds in taken.items()
    )


def once(title: str, step: Step) -> measured.Finished:
    """One run, without what it printed: kept, that would make this process large, and with it the peak of the next."""
    if step.before:
        step.before()
    done = measured.run(step.command, cwd=step.cwd, extra_env=ENVIRONMENT)
    if done.returncode not in step.good_exits:
        raise CorpusError(f"{title}: {step.name} ended with {done.returncode}: {done.stderr[-500:]}")
    return replace(done, stdout="", stderr="")
