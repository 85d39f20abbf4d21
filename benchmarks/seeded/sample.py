"""Which bugs are seeded: a sample of each kind over the files of packages, that depends on the seed alone."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from corpus import python_files
from kinds import KINDS, File, Seed

_TESTS = frozenset({"test", "tests", "testing", "conftest.py", "benchmarks", "examples"})


@dataclass(frozen=True)
class Seeded:
    """A bug put into a file of a package; `path` is relative to the `root` of the package, called `label`."""

    label: str
    root: Path
    path: str
    seed: Seed

    @property
    def key(self) -> str:
        """The same for the same edit of the same release."""
        return f"{self.label}/{self.path}:{self.seed.row}:{self.seed.kind}:{self.seed.start}"


def drawn(packages: Mapping[str, Path], seed: str, most: int, kinds: tuple[str, ...]) -> list[Seeded]:
    """At most so many bugs of each kind a package, in an order that `seed` decides; tests are left out."""
    chosen: list[Seeded] = []
    for label, root in sorted(packages.items()):
        found = list(_possible(label, root, kinds))
        for kind in kinds:
            ordered = sorted((each for each in found if each.seed.kind == kind), key=lambda each: _order(seed, each))
            chosen += ordered[:most]
    return chosen


def _possible(label: str, root: Path, kinds: tuple[str, ...]) -> Iterator[Seeded]:
    for path in python_files(root):
        relative = path.relative_to(root).as_posix()
        data = path.read_bytes()
        if b"torch" not in data or b"\r" in data or not _TESTS.isdisjoint(PurePath(relative.lower()).parts):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                file = File(data)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for kind in kinds:
            for each in KINDS[kind](file):
                yield Seeded(label, root, relative, each)


def _order(seed: str, each: Seeded) -> str:
    return hashlib.sha256(f"{seed} {each.key}".encode()).hexdigest()
