"""Ordinary programs, unchanged: on a plain CPU, and on simulated accelerators under ``torchdevlint run``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.conftest import ROOT, a_part, python
from tests.programs.catalogue import GROUPS, Program, programs

torch_is_there = find_spec("torch") is not None
pytestmark = pytest.mark.skipif(not torch_is_there, reason="torch is not installed, and programs need it")
WORKING, BROKEN, LIBRARIES = (programs(group) for group in GROUPS)


OWN_PROCESSES = {"mlp", "ddp_gloo", "loader", "mlp_target_left", "worker_uses_cuda", "gpu_checkpoint_on_cpu"}
"""Programs that `torchdevlint run` starts as users start it; the others run in forks. Between them: ordinary training,
processes and workers of their own, and what dies in the program, in a worker of it and while a file is read."""


def each(those: list[Program]) -> Any:
    return pytest.mark.parametrize("program", those, ids=lambda program: program.path.stem)


def a_part_of(those: list[Program]) -> Any:
    return pytest.mark.parametrize("program", a_part(those), ids=lambda program: program.path.stem)


def plainly(program: Program, folder: Path) -> subprocess.CompletedProcess[str]:
    """The program on the CPU, even if this machine has accelerators: no part of ours."""
    return forked.python(str(program.path), cwd=folder, **environment(hide=True))


def simulated(program: Program, folder: Path) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """The program under ``torchdevlint run``, and the report."""
    report = folder / "report.json"
    options = [f"--accelerators={program.accelerators}", "--output-format=json", f"--output-file={report}"]
    command = ["-m", "torchdevlint", "run", *options, "--", sys.executable, str(program.path)]
    done = starter(program)(*command, cwd=folder, **environment())
    return done, json.loads(report.read_text(encoding="utf-8"))


def starter(program: Program) -> Callable[..., subprocess.CompletedProcess[str]]:
    return python if program.path.stem in OWN_PROCESSES or program.group == "libraries" else forked.python


def environment(hide: bool = False) -> dict[str, str]:
    quiet = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    return {**quiet, **({"CUDA_VISIBLE_DEVICES": ""} if hide else {})}


def test_the_programs_are_there_and_say_what_the_catalogue_needs() -> None:
    assert {program.path.stem for program in [*WORKING, *BROKEN]} > OWN_PROCESSES
    assert min(len(WORKING), len(BROKEN), len(LIBRARIES)) >= 10
    for program in [*WORKING, *BROKEN, *LIBRARIES]:
        assert program.title.endswith("."), program.path
        assert bool(program.line) == bool(program.rule) == (program.group == "broken"), program.path
        assert bool(program.library) == (program.group == "libraries"), program.path


@a_part_of(WORKING)
def test_a_working_program_trains_on_the_cpu(program: Program, tmp_path: Path) -> None:
    done = plainly(program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "on cpu" in done.stdout or "cpu" in done.stdout or "0 GPUs" in done.stdout


@each(BROKEN)
def test_the_bug_of_a_broken_program_does_not_show_where_no_accelerator_is_involved(
    program: Program, tmp_path: Path
) -> None:
    done = plainly(program, tmp_path)
    if program.accelerators:
        assert done.returncode == 0, done.stderr
    else:
        assert program.text in done.stderr


def test_the_rule_that_a_broken_program_names_finds_it() -> None:
    named = {str(program.path): program.rule for program in BROKEN if not program.rule.startswith("none: ")}
    done = forked.python("-m", "torchdevlint", "check", "--output-format=json", *named)
    found = {(str(ROOT / finding["filename"]), finding["code"]) for finding in json.loads(done.stdout)}
    assert named.items() <= found, sorted(named.items() - found)


@a_part_of(WORKING)
def test_a_working_program_works_on_two_simulated_accelerators(program: Program, tmp_path: Path) -> None:
    done, report = simulated(program, tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert report["errors"] == []
    assert report["accelerators"] == 2
    assert "cuda" in done.stdout or "2 GPUs" in done.stdout


@a_part_of(BROKEN)
def test_a_broken_program_dies_where_it_says_and_the_report_tells(program: Program, tmp_path: Path) -> None:
    done, report = simulated(program, tmp_path)
    assert done.returncode != 0
    assert program.text in done.stderr
    first = report["errors"][0]
    assert program.text in first["text"]
    assert (Path(first["site"]["filename"]).name, first["site"]["location"]["row"]) == (program.path.name, program.line)
    if program.rule.startswith("TDL"):
        assert (first["rule"]["code"], first["rule"]["found"]) == (program.rule, True)


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(each, id=each.path.stem, marks=pytest.mark.library(each.library.replace("-", "_")))
        for each in LIBRARIES
    ],
)
def test_a_library_works_on_the_cpu_and_on_two_simulated_accelerators(program: Program, tmp_path: Path) -> None:
    done = plainly(program, tmp_path)
    assert done.returncode == 0, done.stderr
    done, report = simulated(program, tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert report["errors"] == []


def test_programs_know_nothing_of_the_simulation() -> None:
    for program in [*WORKING, *BROKEN, *LIBRARIES]:
        assert "torchdevlint" not in program.path.read_text(encoding="utf-8"), program.path
        assert "simulat" not in program.path.read_text(encoding="utf-8"), program.path
