"""Run the simulation on every release of PyTorch that it is for, and keep what came of it for docs/runtime.md.

    python scripts/matrix.py                       every release, one after the other
    python scripts/matrix.py --release 2.15.0      that one, or another that the package index has
    python scripts/docs.py                         write what was stored into docs/runtime.md

Each release gets an environment of its own, which is removed afterwards (5 GB for a build for CUDA; nothing of it needs
a GPU); one that lies ready in --environments is used as it is, and left there. What is run there:

* the truth table, held to what its sources state (``python -m benchmarks.truth compare``);
* the tests of the simulation itself (`TESTS`);
* the programs of ``tests/programs`` under ``torchdevlint run`` (`PROGRAMS`).

Where pip is kept to older releases by its configuration: ``PIP_CONFIG_FILE=/dev/null python scripts/matrix.py ..``
Exit codes: 0, 1 (something failed), 2 (it did not work).
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import command
import corpus
import releases
from corpus import CorpusError

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("expecttest", "flake8", "hypothesis", "numpy", "pytest>=8,<10", "pytest-xdist", "pyyaml", "setuptools")
"""What the tests that are run here import beside the package and torch."""
TESTS = ("tests/runtime/simulated", "tests/runtime/test_agreement_with_the_linter.py")
EVEN_SLOW = "not network and not compiled"
PROGRAMS = ("tests/programs", "-k", "two_simulated_accelerators or dies_where_it_says")


def run(options: argparse.Namespace) -> int:
    failed = False
    for release in options.release or releases.RELEASES:
        folder = options.environments / release
        ready = folder.is_dir()
        try:
            print(f"torch {release} ..", file=sys.stderr)
            python = folder / "bin" / "python" if ready else install(release, folder)
            row = measure(python)
        finally:
            if not ready and not options.keep:
                shutil.rmtree(folder, ignore_errors=True)
        if not options.print:
            releases.store(row)
        failed = failed or bool(releases.faults(row))
        print(releases.render([row], releases=()))
    return int(failed)


def install(release: str, folder: Path) -> Path:
    """An environment with a release of torch, what the tests need, and this repository. Gives its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    _done([str(python), "-m", "pip", "install", "--quiet", f"torch=={release}", *NEEDED, "--editable", str(ROOT)])
    return python


def measure(python: Path) -> dict[str, Any]:
    """What the simulation does under the torch of an interpreter."""
    truth = json.loads(_done([str(python), "-m", "benchmarks.truth", "compare", "--json"], passes=(0, 1)))
    total = truth["groups"]["total"]
    wrong = sorted(truth["not as stated"])
    return {
        "torch": _done([str(python), "-c", "import torch; print(torch.__version__)"]).strip(),
        "python": _done([str(python), "-c", "import platform; print(platform.python_version())"]).strip(),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "truth": {
            "stated": total["stated"],
            "met": total["met"],
            "excused": total["stated"] - total["met"] - len(wrong),
            "failed": wrong,
        },
        "tests": _tested(python, TESTS),
        "programs": _tested(python, PROGRAMS),
    }


def _tested(python: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """How many tests passed and were skipped, and which failed.

    What fails is run once more by itself, since on a busy machine limits of time are passed.
    """
    outcomes = _outcomes(python, arguments)
    failed = [name for name, outcome in outcomes.items() if outcome == "failed"]
    if failed:
        outcomes |= _outcomes(python, failed)
    count = Counter(outcomes.values())
    return {
        "passed": count["passed"],
        "skipped": count["skipped"],
        "failed": sorted(name for name, outcome in outcomes.items() if outcome == "failed"),
    }


def _outcomes(python: Path, arguments: Sequence[str]) -> dict[str, str]:
    """``passed``, ``skipped`` or ``failed`` by the name that pytest takes."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        quiet = ["-q", "-p", "no:cacheprovider", "-W", "ignore", "-m", EVEN_SLOW, f"--junit-xml={report}"]
        told = _done([str(python), "-m", "pytest", *quiet, *arguments], passes=(0, 1))
        cases = list(ElementTree.parse(report).iter("testcase"))
    found = {}
    for case in cases:
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        inside = {part.tag for part in case}
        found[name] = "failed" if inside & {"failure", "error"} else "skipped" if "skipped" in inside else "passed"
    if "failed" in found.values():
        print(told, file=sys.stderr)
    return found


def _done(words: Sequence[str], passes: Sequence[int] = (0,)) -> str:
    """The standard output of a command. Raises CorpusError where it ends with another code than `passes`."""
    done = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode not in passes:
        told = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        raise CorpusError(f"{' '.join(words)} ended with {done.returncode}: {' / '.join(told)}")
    return done.stdout


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(run=run)
    parser.add_argument("--release", action="append", default=[], metavar="VERSION", help="instead of every one")
    parser.add_argument("--environments", type=Path, default=corpus.default_cache() / "torch", metavar="DIR")
    parser.add_argument("--print", action="store_true", help="keep nothing of what came of it")
    parser.add_argument("--keep", action="store_true", help="leave the environments where they are")
    return parser


if __name__ == "__main__":
    sys.exit(command.execute("matrix", _parser().parse_args()))
