"""Run the programs of ``tests/programs`` on a plain CPU and under ``torchdevlint run``."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import measured
from measured import Finished

from tests.programs.catalogue import Program

QUIET = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
FINE, FALSE_ALARM, FAILED, NOT_INSTALLED, NOT_PLAIN = "works", "false alarm", "failed", "not installed", "fails anyway"
FOUND, ELSEWHERE, MISSED = "found", "found elsewhere", "missed"
GOOD = (FINE, FOUND, NOT_INSTALLED)


@dataclass(frozen=True)
class Executed:
    """A program, what became of it under simulation (`outcome`), and its seconds on the CPU and simulated.

    `alarms` are the device errors reported that nobody handled, where none is due; `text` is the last line of the
    program's errors or of its output.
    """

    program: Program
    version: str
    plain: float
    simulated: float
    outcome: str
    alarms: int
    text: str


def execute(
    program: Program, python: str, repository: Path, accelerators: int | None, seconds: int, device: str = ""
) -> Executed:
    """Run one program twice, each time in a temporary folder: on the CPU, then under ``torchdevlint run``.

    There it has `accelerators` simulated ones, by default as many as it says it needs, or those of the type `device`
    that the machine has.
    """
    version = version_of(program.library, python)
    if program.library and not version:
        return Executed(program, "", 0, 0, NOT_INSTALLED, 0, f"{program.library} is not installed")
    count = program.accelerators if accelerators is None or program.group == "broken" else accelerators
    with tempfile.TemporaryDirectory() as folder:
        env = {**QUIET, "PYTHONPATH": str(repository)}
        plain = measured.run([python, str(program.path)], Path(folder), {**env, "CUDA_VISIBLE_DEVICES": ""})
        if plain.returncode and program.accelerators:
            return Executed(program, version, plain.wall, 0, NOT_PLAIN, 0, _last(plain))
        report = Path(folder) / "report.json"
        backend = ["--device", device] if device else ["--accelerators", str(count)]
        options = [*backend, "--timeout", str(seconds), "--output-format", "json", "--output-file", str(report)]
        command = [python, "-m", "torchdevlint", "run", *options]
        done = measured.run([*command, "--", python, str(program.path)], Path(folder), env)
        told = json.loads(report.read_text(encoding="utf-8")) if report.is_file() else {}
    errors = told.get("errors", [])  # its "failures", such as a backend that did not start, are no verdict on devices
    outcome = _death(program, done, told) if program.line else _life(done, errors)
    alarms = 0 if program.line else len(errors)
    return Executed(program, version, plain.wall, done.wall, outcome, alarms, _last(done))


def _life(done: Finished, errors: Sequence[object]) -> str:
    if errors:
        return FALSE_ALARM
    return FAILED if done.returncode else FINE


def _death(program: Program, done: Finished, told: dict[str, list[dict[str, object]]]) -> str:
    """Whether the first error of the report has the text and the line that the program names."""
    errors = told.get("errors") or []
    if not errors or program.text not in f"{errors[0]['text']}":
        return FAILED if done.returncode else MISSED
    site = errors[0]["site"]
    here = (
        isinstance(site, dict)
        and Path(site["filename"]).name == program.path.name
        and site["location"]["row"] == program.line
    )
    return FOUND if here else ELSEWHERE


def _last(done: Finished) -> str:
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    return lines[-1].strip()[:200] if lines else ""


def version_of(library: str, python: str) -> str:
    """The version of a distribution that `python` has, empty if it has none."""
    if not library:
        return ""
    code = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    done = subprocess.run([python, "-c", code, library], capture_output=True, text=True, check=False)
    return done.stdout.strip()
