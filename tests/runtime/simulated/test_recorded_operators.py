"""Torch's database of operators with its tensors in two places: the simulation does what a GPU did."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="torch's database of operators needs it")

from benchmarks.operators import record
from benchmarks.operators.exceptions import EXCEPTIONS
from torchdevlint.runtime.simulated.operators.texts import installed

SAME_SAMPLES = ((2, 11), (2, 12), (2, 13))
same_samples = pytest.mark.skipif(
    installed() not in SAME_SAMPLES, reason="this release of torch has other samples than the one that was recorded"
)
FILES = sorted(record.FOLDER.glob("*.json"))
QUICK, PARTS = 40, 8


def entry(program: str) -> str:
    return "/".join(program.split("/")[:2])


def simulated(part: int, parts: int, folder: Path) -> dict[str, record.Outcome]:
    """What a part of the database does, in a process whose database was imported into the simulation."""
    out = folder / "outcomes.jsonl"
    command = [sys.executable, "-m", "benchmarks.operators.worker", "simulated", str(part), str(parts), str(out)]
    subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[3])
    rows = map(json.loads, out.read_text("utf-8").splitlines())
    return {row.pop("id"): row for row in rows if len(row) > 1}


def hold(part: int, parts: int, folder: Path) -> None:
    outcomes = simulated(part, parts, folder)
    for file in FILES:
        _, real = record.read(file)
        found = record.compare(real, outcomes)
        assert len(found.pop(record.AGREES)) > 10_000 // parts
        differing = {name: verdict for verdict, names in found.items() for name in names}
        assert {name: verdict for name, verdict in differing.items() if entry(name) not in EXCEPTIONS} == {}


@same_samples
def test_a_small_part_does_what_the_gpu_did(tmp_path: Path) -> None:
    hold(7, QUICK, tmp_path)


@same_samples
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_the_simulation_does_what_the_gpu_did(part: int, tmp_path: Path) -> None:
    hold(part, PARTS, tmp_path)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    outcomes = {
        "operator/add/call0/cpu0": {"raises": "RuntimeError", "text": "found cuda:0 at 0x7f"},
        "operator/add/call0/all": {"devices": ["cuda:0"]},
        "operator/nn.functional.linear.x/out1/all": {"devices": ["cuda:0"]},
    }
    record.write(tmp_path / "one.json", {"gpu": "G", "torch": "2.11.0"}, outcomes)
    stamp, read = record.read(tmp_path / "one.json")
    assert stamp == {"gpu": "G", "torch": "2.11.0"}
    assert record.compare(read, outcomes)[record.AGREES] == sorted(outcomes)


def test_each_way_to_differ_has_a_name() -> None:
    fine, elsewhere = {"devices": ["cuda:0"]}, {"devices": ["cpu"]}
    refused, otherwise = {"raises": "RuntimeError", "text": "a"}, {"raises": "TypeError", "text": "a"}
    assert record.judge(fine, elsewhere) == record.DEVICES
    assert record.judge(fine, refused) == record.FALSE_ALARM
    assert record.judge(refused, fine) == record.MISSED
    assert record.judge(refused, otherwise) == record.WORDS


def test_exceptions_are_of_entries_that_are_recorded() -> None:
    recorded = {entry(name) for file in FILES for name in record.read(file)[1]}
    assert set(EXCEPTIONS) <= recorded
