"""A suite on real accelerators beside the stored rows of its simulation: whether what fails is the same."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import suites
from compared import BAD
from corpus import CorpusError
from stored import StoredReal, StoredSuite
from suites import Outcome, Suite

from torchdevlint.symptoms import recognise

_MACHINE = "import torch; print(torch.__version__, torch.cuda.get_device_name(0), sep='\\n')"


@dataclass(frozen=True)
class RealRun:
    """The outcomes of a suite's tests on the accelerators of a machine: `gpu` is their name, `torch` the release."""

    torch: str
    gpu: str
    outcomes: Mapping[str, Outcome]


def run(suite: Suite, folder: Path, python: str, results: Path, repository: Path) -> RealRun:
    """Run `suite` on the accelerators of this machine. Raises CorpusError where torch finds none."""
    done = subprocess.run([python, "-c", _MACHINE], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CorpusError(f"torch finds no accelerator here: {done.stderr.strip().splitlines()[-1:]}")
    torch, gpu = done.stdout.splitlines()
    ran = suites.run(suite, folder, python, suites.REAL, results, repository)
    _machine(suite, results).write_text(json.dumps({"torch": torch, "gpu": gpu}) + "\n", encoding="utf-8")
    return RealRun(torch, gpu, ran.outcomes)


def load(suite: Suite, results: Path) -> RealRun | None:
    """What `run` has left in `results`, on this machine or on another one: the outcomes, and what machine it was."""
    ran = suites.load(suite, suites.REAL, results)
    if ran is None:
        return None
    return RealRun(**json.loads(_machine(suite, results).read_text(encoding="utf-8")), outcomes=ran.outcomes)


def _machine(suite: Suite, results: Path) -> Path:
    return results / f"{suite.label}.machine.json"


def compare(suite: Suite, real: RealRun, simulated: Iterable[StoredSuite]) -> StoredReal:
    """`simulated` are the rows of the simulation; those of other suites are left out."""
    alarmed: dict[str, str] = {}
    for row in simulated:
        if row.library == suite.library and row.version == suite.version:
            alarmed |= row.alarmed
    ran = {test: one for test, one in real.outcomes.items() if one.result != "skipped"}
    bad = {test: one.text for test, one in ran.items() if one.result in BAD}
    others = {test: text for test, text in bad.items() if test not in alarmed}
    only = {test: text for test, text in others.items() if _is_of_devices(text)}
    return StoredReal(
        *(suite.library, suite.version, real.torch, real.gpu, len(ran), len(alarmed)),
        failed=sum(test in bad for test in alarmed),
        passed={test: text for test, text in alarmed.items() if test in ran and test not in bad},
        only=only,
        others=len(others) - len(only),
    )


def _is_of_devices(text: str) -> bool:
    found = recognise(text)
    return found is not None and found.symptom.is_of_devices
