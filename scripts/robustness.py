"""Check the linter itself: whatever a file holds, it must end soon, not raise, and say nothing malformed.

    python scripts/robustness.py stdlib [INTERPRETER ..]   every file of the standard library and of its tests
    python scripts/robustness.py packages                  every file of the pinned large packages
    python scripts/robustness.py generated --count N       programs that hypothesmith makes (extra `fuzz`)
    python scripts/robustness.py mutations --count N       real files, changed byte by byte
    python scripts/robustness.py programs --count N        real files, changed so that they can still be parsed
    python scripts/robustness.py stress                    generated extremes in sizes 1, 2, 4: how does the time grow?
    python scripts/robustness.py fuzz --seconds N          coverage-guided fuzzing with atheris (extra `fuzz`)
    python scripts/robustness.py pin NAME==VERSION         add a release to the packages

Everything is checked with all rules, in a child process that may die or hang. What depends on chance depends on
`--seed` alone, and one change can be had again with `--first N --count 1`; `--keep` writes what failed to a folder.
Exit codes: 0, 1 (a fault of the linter was found), 2 (it did not work).
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import command  # noqa: E402
import corpus  # noqa: E402
from robustness import growth, inputs  # noqa: E402
from robustness.judged import Outcome, Sample  # noqa: E402
from robustness.watched import Child, peak_of_children  # noqa: E402

DATA = HERE / "robustness"
TOO_SLOW, NOTICED = 50, 2.0
"""A file is slow if a line takes so many times what it takes in the median file, and the whole so many seconds."""


@dataclass
class Tally:
    """What came of all samples of one run."""

    outcomes: list[Outcome] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    twice: int = 0

    def add(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.faults += [(outcome.name, fault) for fault in outcome.faults]

    def slow(self) -> list[Outcome]:
        usual = statistics.median([each.speed for each in self.outcomes if each.lines >= 20] or [100.0])
        return [each for each in self.outcomes if each.seconds > NOTICED and each.speed > TOO_SLOW * usual]

    def report(self, took: float) -> int:
        """Print counts and faults; give the exit code."""
        lines = sum(each.lines for each in self.outcomes)
        seconds = sum(each.seconds for each in self.outcomes)
        print(f"{len(self.outcomes):,} samples, {lines:,} lines, {took:.0f} s, of which {seconds:.0f} s in the linter")
        print(
            f"findings {sum(each.findings for each in self.outcomes):,};"
            f" no valid Python {sum(each.invalid for each in self.outcomes):,};"
            f" too deep {sum(each.refused for each in self.outcomes):,};"
            f" compared with a second process {self.twice:,}; largest process {peak_of_children()} MiB"
        )
        print(f"digest of all results: {self.digest()}")
        for each in sorted(self.outcomes, key=lambda each: -each.seconds)[:3]:
            print(f"  longest: {each.seconds:.2f} s, {each.lines:,} lines, {each.name}")
        for each in self.slow():
            self.faults.append((each.name, f"slow: {each.seconds:.1f} s, {each.speed:.0f} us/line"))
        kinds = Counter(re.sub(r"\d+", "N", fault) for _, fault in self.faults)
        for kind, number in kinds.most_common():
            name, fault = next(each for each in self.faults if re.sub(r"\d+", "N", each[1]) == kind)
            print(f"FAULT x{number}: {fault}\n    first: {name}")
        print(f"faults: {len(self.faults)}")
        return int(bool(self.faults))

    def digest(self) -> str:
        return hashlib.sha256("".join(each.digest for each in self.outcomes).encode()).hexdigest()[:16]


def main(arguments: Sequence[str] | None = None) -> int:
    return command.execute("robustness", _parser().parse_args(arguments))


def stdlib(options: argparse.Namespace) -> int:
    status = 0
    for interpreter in options.interpreter or [sys.executable]:
        root = inputs.standard_library(interpreter)
        paths = inputs.of_library(root)
        if not (root / "test" / "__init__.py").exists():
            print(f"{root} has no test suite: only the rest is checked", file=sys.stderr)
        print(f"== {root}")
        status |= _check(inputs.files(paths, root), options)
    return status


def packages(options: argparse.Namespace) -> int:
    status = 0
    for release in corpus.select(corpus.load(options.data), options.release, "all"):
        root = corpus.folder(release, options.cache)
        print(f"== {release.label}: {release.files:,} files, {release.lines:,} lines")
        status |= _check(inputs.files(corpus.python_files(root), root), options)
    return status


def generated(options: argparse.Namespace) -> int:
    return _check(inputs.generated(options.seed, options.count), options)


def mutations(options: argparse.Namespace) -> int:
    return _changed(options, "bytes")


def programs(options: argparse.Namespace) -> int:
    return _changed(options, "trees")


def stress(options: argparse.Namespace) -> int:
    return growth.report(options.only, options.limit, Child(options.limit))


def fuzz(options: argparse.Namespace) -> int:
    from robustness import guided

    return guided.run(options.seconds or 60, options.seed, options.keep or Path("fuzz"))


def pin(options: argparse.Namespace) -> int:
    release = corpus.pin(options.requirement, "extended", options.cache)
    corpus.save([*(each for each in corpus.load(options.data) if each.name != release.name), release], options.data)
    print(f"{release.label}: {release.archive}, {release.files} files, {release.lines:,} lines")
    return 0


def _changed(options: argparse.Namespace, kind: str) -> int:
    seeds = inputs.seeds(options.cache, options.seed)
    print(f"{len(seeds):,} files are changed, seed {options.seed}")
    numbers = range(options.first, options.first + options.count)
    return _check(inputs.changed(seeds, options.seed, numbers, kind), options)


def _check(samples: Iterable[Sample], options: argparse.Namespace) -> int:
    """Check samples until the time is over, every tenth in a second process as well; print what came of it."""
    tally, start, shown = Tally(), time.monotonic(), time.monotonic()
    first, second = Child(options.limit), Child(options.limit, hash_seed=1)
    for number, sample in enumerate(_within(samples, options, start)):
        outcome = first.examine(sample)
        tally.add(outcome)
        if options.again and number % options.again == 0:
            tally.twice += 1
            if second.examine(sample).digest != outcome.digest:
                tally.faults.append((sample.name, "two processes found something different"))
        if options.keep and any(name == sample.name for name, _ in tally.faults[-3:]):
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / (re.sub(r"\W+", "_", sample.name)[-150:] + ".py")).write_bytes(sample.data)
        if time.monotonic() - shown > 10:
            shown = time.monotonic()
            print(f"  {number + 1:,} samples, {len(tally.faults)} faults", file=sys.stderr, flush=True)
    first.close()
    second.close()
    return tally.report(time.monotonic() - start)


def _within(samples: Iterable[Sample], options: argparse.Namespace, start: float) -> Iterator[Sample]:
    chosen = itertools.islice(samples, options.count) if options.count else samples
    if options.only:
        chosen = (sample for sample in chosen if re.search(options.only, sample.name))
    if options.seconds:
        chosen = itertools.takewhile(lambda _: time.monotonic() - start < options.seconds, chosen)
    return iter(chosen)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for run, count in ((stdlib, 0), (packages, 0), (generated, 1000), (mutations, 10_000), (programs, 10_000)):
        one = commands.add_parser(run.__name__, parents=[_common(count)])
        one.set_defaults(run=run)
        if run is stdlib:
            one.add_argument("interpreter", nargs="*", help="default: the running one")
        elif run is packages:
            one.add_argument("--release", action="append", default=[], metavar="NAME[==VERSION]", help="default: all")
        elif run in (mutations, programs):
            one.add_argument("--first", type=int, default=0, help="number of the first change")
    for run in (stress, fuzz):
        commands.add_parser(run.__name__, parents=[_common()]).set_defaults(run=run)
    pinning = commands.add_parser("pin", parents=[_common()])
    pinning.add_argument("requirement", metavar="NAME==VERSION")
    pinning.set_defaults(run=pin)
    return parser


def _common(count: int = 0) -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--data", type=Path, default=DATA, help="folder of the list of releases")
    common.add_argument("--cache", type=Path, default=corpus.default_cache(), help="archives and their unpacked code")
    common.add_argument("--limit", type=float, default=60, help="seconds for one sample; default: %(default)s")
    common.add_argument("--seconds", type=float, help="start no sample after so many")
    common.add_argument("--count", type=int, default=count, help="of samples; 0: all there are")
    common.add_argument("--seed", type=int, default=0)
    common.add_argument("--again", type=int, default=10, metavar="N", help="every Nth in a second process; 0: none")
    common.add_argument("--only", default="", metavar="REGEX", help="samples whose names match")
    common.add_argument("--keep", type=Path, metavar="FOLDER", help="write samples with faults there")
    return common


if __name__ == "__main__":
    sys.exit(main())
