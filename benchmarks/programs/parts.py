"""A suite that is run in parts, each in a process of its own: what takes hours is gone through in some sessions.

A part is a path of the suite's tests, or several that commas join. Its outcomes lie in a folder of its own beside those
of whole suites, and a part that has ended is not run again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import suites
from corpus import CorpusError
from suites import Ran, Suite

PARTS = "parts"
_LONGEST = 120


def folder(results: Path, part: str) -> Path:
    """Where the outcomes of a part lie; the end of a name that is too long for a file system is told by its digest."""
    name = part.replace("/", ".")
    if len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}-{hashlib.blake2b(name.encode(), digest_size=8).hexdigest()}"
    return results / PARTS / name


def paths(part: str) -> list[str]:
    return [one for one in part.split(",") if one]


def stored(suite: Suite, accelerators: int | None, results: Path) -> dict[str, Ran]:
    """Every part of the suite that has ended, by the name of its folder."""
    places = sorted((results / PARTS).iterdir()) if (results / PARTS).is_dir() else []
    found = {place.name: suites.load(suite, accelerators, place) for place in places}
    return {name: one for name, one in found.items() if one is not None}


def together(suite: Suite, accelerators: int, results: Path) -> tuple[Ran, Ran] | None:
    """What ran on the CPU and on accelerators, of those parts that ran on both."""
    plain, simulated = stored(suite, None, results), stored(suite, accelerators, results)
    both = sorted(plain.keys() & simulated.keys())
    if not both:
        return None
    return _joined([plain[name] for name in both]), _joined([simulated[name] for name in both])


def _joined(parts: Iterable[Ran]) -> Ran:
    """One run of all the parts; a test that is in two of them counts once, and stands for its worse outcome."""
    first, *rest = parts
    outcomes = dict(first.outcomes)
    for one in rest:
        outcomes.update({test: new for test, new in one.outcomes.items() if _is_worse(new, outcomes.get(test))})
    whole = [first, *rest]
    paths = tuple(sorted({path for one in whole for path in one.paths}))
    files = frozenset[str]().union(*(one.files for one in whole))
    return Ran(first.suite, first.accelerators, sum(one.cpu for one in whole), outcomes, paths, files, first.among)


def _is_worse(new: suites.Outcome, known: suites.Outcome | None) -> bool:
    return known is None or new.result in ("failed", "error")


def run(parts: Iterable[str], run_one: Callable[[str], object], tell: Callable[[str], object]) -> None:
    """Run each part; one that does not come to its end is told of, and the others still run."""
    for part in parts:
        try:
            run_one(part)
        except CorpusError as error:
            tell(f"{part}: {error}")
