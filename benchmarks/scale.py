"""Time `torchdevlint.integrations.dask` on archives of pinned releases, with one worker and with more.

    python benchmarks/scale.py
    python benchmarks/scale.py --write docs/scale.md

Each measurement is a new cluster of processes and an empty table; rounds alternate between the numbers of workers, and
the median counts. The start of the workers is not part of it. CPU seconds are those of the workers: on a busy machine
they say what the wall clock does not.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import corpus  # noqa: E402
import tables  # noqa: E402
from corpus import CorpusError  # noqa: E402

RELEASES = (
    "timm==0.4.12",
    "accelerate==1.0.1",
    "torch_geometric==1.6.3",
    "diffusers==0.3.0",
    "accelerate==0.5.1",
)
"""The largest first, so that no worker is left alone with it at the end."""
HEADER = ("workers", "files/s", "lines/s", "wall s", "range", "cpu s", "again, wall s")


@dataclass(frozen=True)
class Measured:
    """One run over all archives, and one more that finds everything done; seconds, but for `files` and `lines`."""

    files: int
    lines: int
    wall: float
    cpu: float
    again: float


def measure(archives: Sequence[Path], workers: int) -> Measured:
    from distributed import Client, LocalCluster

    from torchdevlint.integrations.dask import lint_to_parquet

    options = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with tempfile.TemporaryDirectory() as out, LocalCluster(**options) as cluster, Client(cluster) as client:
        before = sum(client.run(_cpu_seconds).values())
        start = time.perf_counter()
        summary = lint_to_parquet(archives, out)
        wall = time.perf_counter() - start
        cpu = sum(client.run(_cpu_seconds).values()) - before
        start = time.perf_counter()
        again = lint_to_parquet(archives, out)
        if summary.errors or summary.linted != len(archives) or again.linted:
            raise CorpusError(f"not what was to be measured: {summary}, then {again}")
        return Measured(summary.files, summary.lines, wall, cpu, time.perf_counter() - start)


def _cpu_seconds() -> float:
    return time.process_time()


def row(workers: int, rounds: Sequence[Measured]) -> tuple[str, ...]:
    walls = [each.wall for each in rounds]
    wall = statistics.median(walls)
    return (
        str(workers),
        f"{rounds[0].files / wall:.0f}",
        f"{rounds[0].lines / wall:,.0f}",
        f"{wall:.1f}",
        f"{min(walls):.1f}-{max(walls):.1f}",
        f"{statistics.median(each.cpu for each in rounds):.1f}",
        f"{statistics.median(each.again for each in rounds):.2f}",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("releases", nargs="*", default=list(RELEASES), help="pinned ones; default: %(default)s")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="default: 1 2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=corpus.default_cache(), help="where pinned releases are kept")
    parser.add_argument("--write", type=Path, help="the page whose table is replaced")
    options = parser.parse_args(arguments)
    try:
        pinned = {f"{each.name}=={each.version}": each for each in corpus.load(ROOT / "scripts" / "ecosystem")}
        chosen = [pinned[name] for name in options.releases]
        archives = [corpus.archive(release, options.cache) for release in chosen]
        taken: dict[int, list[Measured]] = {workers: [] for workers in options.workers}
        for number in range(options.rounds):
            for workers in options.workers:
                print(f"round {number + 1}/{options.rounds}: {workers} workers", file=sys.stderr)
                taken[workers].append(measure(archives, workers))
    except KeyError as error:
        print(f"scale: not pinned: {error}", file=sys.stderr)
        return 2
    except (CorpusError, OSError) as error:
        print(f"scale: {error}", file=sys.stderr)
        return 2
    rows = [row(workers, rounds) for workers, rounds in taken.items()]
    first = taken[options.workers[0]][0]
    names = ", ".join(f"{each.name} {each.version}" for each in chosen)
    about = (
        f"CPython {platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"load average {os.getloadavg()[0]:.1f} at the end; median of {options.rounds} alternating rounds. "
        f"{len(chosen)} archives ({names}): {first.files:,} files, {first.lines:,} lines."
    )
    print(f"{about}\n\n{tables.columns(HEADER, rows)}")
    if options.write:
        tables.refresh(options.write, "scale", f"{about}\n\n{tables.markdown(HEADER, rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
