"""The test suites of libraries: what is run of each, and its outcome, test by test.

A suite lies in ``FOLDER/NAME-VERSION``: an unpacked source distribution where that holds the tests, else the files of
a commit of the library's repository. It runs against the sources that lie beside it.
"""

from __future__ import annotations

import json
import os
import random
import re
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import clones as clones_of
import measured
from corpus import CorpusError
from measured import Finished

LIMIT_OF_A_TEST_S = 300
SEED = 20
REAL = 0
"""In place of a number of simulated accelerators: those that the machine has."""
RAN = (0, 1)
"""Exit codes of pytest when all of its tests ran: others are of a collection that failed, or of an interruption."""


@dataclass(frozen=True)
class Suite:
    """A part of a library's tests that takes some minutes: the paths and options that pytest is given.

    `repository` and `commit` say where its files are, if the source distribution holds no tests. Of a `share` below 1,
    so many of the test files in the paths run: those that `SEED` draws. `sources` are the folders from which the
    library and the tests' helpers are imported, and `root` is where pytest is started, relative to the suite's own
    folder. `simulated` is added to the environment for accelerators, `plain` for the CPU. `choice` is how its tests
    choose their device, `needs` what has to be installed for them. A parameter that is the first word of `twin` on
    accelerators is the second on the CPU, for what is otherwise the same test.
    """

    library: str
    version: str
    choice: str
    arguments: tuple[str, ...]
    repository: str = ""
    commit: str = ""
    share: float = 1.0
    needs: str = ""
    root: str = "."
    sources: tuple[str, ...] = (".",)
    plain: Mapping[str, str] = field(default_factory=dict)
    simulated: Mapping[str, str] = field(default_factory=dict)
    twin: tuple[str, str] | None = None

    @property
    def label(self) -> str:
        return f"{self.library}-{self.version}"

    def drawn(self, home: Path) -> list[str]:
        """What pytest is given: `arguments`, or in place of their paths the files drawn from those."""
        if self.share >= 1:
            return list(self.arguments)
        files = self.files(home, [one for one in self.arguments if not one.startswith("-")])
        chosen = random.Random(SEED).sample(files, max(1, round(len(files) * self.share)))
        return [*sorted(chosen), *self.options]

    @property
    def options(self) -> list[str]:
        return [one for one in self.arguments if one.startswith("-")]

    def files(self, home: Path, paths: Sequence[str] = ()) -> list[str]:
        """The test files below `paths`, which are the suite's own if none are given, without those it ignores."""
        chosen = [home / one.partition("::")[0] for one in paths or self.arguments if not one.startswith("-")]
        found = {
            file for path in chosen for file in ([path] if path.is_file() else path.rglob("*.py")) if _is_test(file)
        }
        ignored = {one.partition("=")[2] for one in self.options if one.startswith("--ignore=")}
        return sorted({file.relative_to(home).as_posix() for file in found} - ignored)

    def on_the_cpu(self, test: str) -> str:
        """What the test of this id on accelerators is called on the CPU."""
        name, bracket, parameters = test.partition("[")
        if self.twin is None:
            return test
        return name + bracket + re.sub(rf"\b{self.twin[0]}\b", self.twin[1], parameters)


@dataclass(frozen=True)
class Outcome:
    """What became of one test: ``passed``, ``failed``, ``error`` or ``skipped``, and the first line of why."""

    result: str
    seconds: float
    text: str


@dataclass(frozen=True)
class Ran:
    """A suite that ran, on `accelerators` simulated ones, `REAL` ones or a plain CPU (None), in `cpu` seconds of all
    processes.

    If it ran in part, `paths` are what pytest was given, and `files` the test files there of the `among` that it has.
    """

    suite: Suite
    accelerators: int | None
    cpu: float
    outcomes: Mapping[str, Outcome]
    paths: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()
    among: int = 0

    @property
    def share(self) -> float:
        return len(self.files) / self.among if self.files else self.suite.share


def absent(suite: Suite, folder: Path) -> bool:
    return not (folder / suite.label / suite.root).is_dir()


def fetch(suite: Suite, folder: Path, python: str, clones: Path, host: str) -> None:
    """Put a suite under `folder`: its source distribution, or the files of its commit from a clone in `clones`."""
    folder.mkdir(parents=True, exist_ok=True)
    if not suite.repository:
        _unpack(suite, folder, python)
        return
    clone = clones_of.clone_of(suite.repository, clones)
    if clone is None:
        clone = clones / suite.repository
        clones_of.clone(f"{host}/{suite.repository}", [suite.commit], clone)
    clones_of.write_tree(clone, suite.commit, folder / suite.label)


def _unpack(suite: Suite, folder: Path, python: str) -> None:
    downloads = folder / "downloads" / suite.label
    wanted = ["--no-deps", "--no-binary", suite.library, f"{suite.library}=={suite.version}"]
    done = measured.run([python, "-m", "pip", "download", "--quiet", *wanted, "--dest", str(downloads)])
    archives = sorted(downloads.glob("*.tar.gz")) if downloads.is_dir() else []
    if done.returncode or len(archives) != 1:
        raise CorpusError(f"{suite.label}: no source distribution: {done.stderr.strip()[-300:]}")
    with tarfile.open(archives[0]) as sdist:
        sdist.extractall(folder, filter="data")
        top = sdist.getnames()[0].partition("/")[0]
    if top != suite.label:
        (folder / top).rename(folder / suite.label)


def _is_test(file: Path) -> bool:
    return file.name.startswith("test_") or file.name.endswith("_test.py")


def command(python: str, accelerators: int | None, out: Path, tests: Sequence[str]) -> list[str]:
    """How `tests` are run as a team would run them; `out` is the stem of the files that are written."""
    options = ["-q", "-p", "no:cacheprovider", f"--timeout={LIMIT_OF_A_TEST_S}", f"--junitxml={out}.xml"]
    simulated = [f"--simulate-accelerators={accelerators}"] if accelerators else []
    return [python, "-m", "pytest", *simulated, *options, *tests]


def _where(accelerators: int | None) -> str:
    return "plain" if accelerators is None else "real" if accelerators == REAL else str(accelerators)


def run(
    suite: Suite,
    folder: Path,
    python: str,
    accelerators: int | None,
    results: Path,
    repository: Path,
    only: Sequence[str] = (),
) -> Ran:
    """Run a suite; its output and outcomes are left in `results`. `only` are paths in place of the suite's."""
    home = (folder / suite.label / suite.root).resolve()
    results.mkdir(parents=True, exist_ok=True)
    out = (results / f"{suite.label}.{_where(accelerators)}").resolve()
    Path(f"{out}.xml").unlink(missing_ok=True)
    paths = [str((folder / suite.label / source).resolve()) for source in suite.sources]
    env = {
        "PYTHONPATH": os.pathsep.join([*paths, str(repository)]),
        "PATH": os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", "")]),  # commands of the library
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        **({"CUDA_VISIBLE_DEVICES": "", **suite.plain} if accelerators is None else suite.simulated),
    }
    tests = [*only, *suite.options] if only else suite.drawn(home)
    done = measured.run(command(python, accelerators, out, tests), cwd=home, extra_env=env)
    Path(f"{out}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    outcomes = _read(Path(f"{out}.xml"), suite, done)
    told = {test: [one.result, round(one.seconds, 3), one.text] for test, one in sorted(outcomes.items())}
    files = suite.files(home, only) if only else []
    among = len(suite.files(home))
    stored = {"cpu": round(done.cpu, 1), "paths": list(only), "files": files, "among": among, "outcomes": told}
    Path(f"{out}.json").write_text(json.dumps(stored, indent=0) + "\n", encoding="utf-8")
    return Ran(suite, accelerators, done.cpu, outcomes, tuple(only), frozenset(files), among)


def load(suite: Suite, accelerators: int | None, results: Path) -> Ran | None:
    """The stored outcomes of an earlier run."""
    path = results / f"{suite.label}.{_where(accelerators)}.json"
    if not path.is_file():
        return None
    stored = json.loads(path.read_text(encoding="utf-8"))
    outcomes = {test: Outcome(*one) for test, one in stored["outcomes"].items()}
    paths, files = tuple(stored["paths"]), frozenset(stored["files"])
    return Ran(suite, accelerators, stored["cpu"], outcomes, paths, files, stored["among"])


def _read(junit: Path, suite: Suite, done: Finished) -> dict[str, Outcome]:
    if not junit.is_file() or done.returncode not in RAN:
        raise CorpusError(f"{suite.label} ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-600:]}")
    outcomes: dict[str, Outcome] = {}
    for case in ElementTree.parse(junit).iter("testcase"):
        told = next((part for part in case if part.tag in ("failure", "error", "skipped")), None)
        result = "passed" if told is None else {"failure": "failed"}.get(told.tag, told.tag)
        text = "" if told is None else (told.get("message") or "").strip().partition("\n")[0][:300]
        test = re.sub(r" at 0x[0-9a-f]+", "", f"{case.get('classname')}::{case.get('name')}")
        if test not in outcomes or outcomes[test].result != "failed":  # a subtest has the test's name, and comes first
            outcomes[test] = Outcome(result, float(case.get("time") or 0), text)
    return outcomes
