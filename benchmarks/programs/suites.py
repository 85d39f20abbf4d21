"""The test suites of libraries: what is run of each, and its outcome, test by test.

A suite lies in ``FOLDER/NAME-VERSION``: an unpacked source distribution where that holds the tests, else a copy of the
library's repository at the tag of that version. It runs against the sources that lie beside it.
"""

from __future__ import annotations

import json
import os
import re
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import measured
from corpus import CorpusError
from measured import Finished

LIMIT_OF_A_TEST_S = 300


@dataclass(frozen=True)
class Suite:
    """A part of a library's tests that takes a minute or two: the paths and options that pytest is given.

    `sources` are the folders from which the library and the tests' helpers are imported, and `root` is where pytest is
    started, relative to the suite's own folder. `simulated` is added to the environment for accelerators, `plain` for
    the CPU. `choice` is how its tests choose their device, `needs` what has to be installed for them.
    """

    library: str
    version: str
    choice: str
    arguments: tuple[str, ...]
    shipped: bool
    """Whether the source distribution holds the tests."""
    needs: str = ""
    root: str = "."
    sources: tuple[str, ...] = (".",)
    plain: Mapping[str, str] = field(default_factory=dict)
    simulated: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"{self.library}-{self.version}"


@dataclass(frozen=True)
class Outcome:
    """What became of one test: ``passed``, ``failed``, ``error`` or ``skipped``, and the first line of why."""

    result: str
    seconds: float
    text: str


@dataclass(frozen=True)
class Ran:
    """A suite that ran, on `accelerators` simulated ones or on a plain CPU (None)."""

    suite: Suite
    accelerators: int | None
    wall: float
    outcomes: Mapping[str, Outcome]


def absent(suite: Suite, folder: Path) -> bool:
    return not (folder / suite.label / suite.root).is_dir()


def unpack(suite: Suite, folder: Path, python: str) -> None:
    """Download and unpack the source distribution of a suite that ships its tests."""
    folder.mkdir(parents=True, exist_ok=True)
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


def command(
    suite: Suite, folder: Path, python: str, accelerators: int | None, out: Path, only: Sequence[str]
) -> list[str]:
    """How the suite is run; `out` is the stem of the files it writes. `only` are arguments in place of the suite's."""
    options = ["-q", "-p", "no:cacheprovider", f"--timeout={LIMIT_OF_A_TEST_S}", f"--junitxml={out}.xml"]
    tests = [python, "-m", "pytest", *options, *(only or suite.arguments)]
    if accelerators is None:
        return tests
    report = ["--output-format", "json", "--output-file", f"{out}.report.json"]
    return [python, "-m", "torchdevlint", "run", "--accelerators", str(accelerators), *report, "--", *tests]


def run(
    suite: Suite,
    folder: Path,
    python: str,
    accelerators: int | None,
    results: Path,
    repository: Path,
    only: Sequence[str] = (),
) -> Ran:
    """Run a suite; its output, report and outcomes are left in `results`."""
    home = (folder / suite.label / suite.root).resolve()
    results.mkdir(parents=True, exist_ok=True)
    out = (results / f"{suite.label}.{'plain' if accelerators is None else accelerators}").resolve()
    Path(f"{out}.xml").unlink(missing_ok=True)
    paths = [str((folder / suite.label / source).resolve()) for source in suite.sources]
    env = {
        "PYTHONPATH": os.pathsep.join([*paths, str(repository)]),
        "PATH": os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", "")]),  # commands of the library
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        **({"CUDA_VISIBLE_DEVICES": "", **suite.plain} if accelerators is None else suite.simulated),
    }
    done = measured.run(command(suite, folder, python, accelerators, out, only), cwd=home, extra_env=env)
    Path(f"{out}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    outcomes = _read(Path(f"{out}.xml"), suite, done)
    stored = {test: [one.result, round(one.seconds, 3), one.text] for test, one in sorted(outcomes.items())}
    Path(f"{out}.json").write_text(json.dumps(stored, indent=0) + "\n", encoding="utf-8")
    return Ran(suite, accelerators, done.wall, outcomes)


def load(suite: Suite, accelerators: int | None, results: Path) -> Ran | None:
    """The stored outcomes of an earlier run; its time is that of the tests alone."""
    path = results / f"{suite.label}.{'plain' if accelerators is None else accelerators}.json"
    if not path.is_file():
        return None
    outcomes = {test: Outcome(*one) for test, one in json.loads(path.read_text(encoding="utf-8")).items()}
    return Ran(suite, accelerators, sum(one.seconds for one in outcomes.values()), outcomes)


def _read(junit: Path, suite: Suite, done: Finished) -> dict[str, Outcome]:
    if not junit.is_file():
        raise CorpusError(f"{suite.label} ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-600:]}")
    outcomes = {}
    for case in ElementTree.parse(junit).iter("testcase"):
        told = next((part for part in case if part.tag in ("failure", "error", "skipped")), None)
        result = "passed" if told is None else {"failure": "failed"}.get(told.tag, told.tag)
        text = "" if told is None else (told.get("message") or "").strip().partition("\n")[0][:300]
        test = re.sub(r" at 0x[0-9a-f]+", "", f"{case.get('classname')}::{case.get('name')}")
        outcomes[test] = Outcome(result, float(case.get("time") or 0), text)
    return outcomes
