"""The truth table: its form, a control run on the plain CPU, and the simulated backend against it."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("numpy")

from click.testing import CliRunner

from benchmarks.truth import __main__ as command_line
from benchmarks.truth.case import Case, ok, raises
from benchmarks.truth.cases import ALL
from benchmarks.truth.compare import contradictions, counts, disagreements, judge, meets, same, tell
from benchmarks.truth.exceptions import EXCEPTIONS
from benchmarks.truth.execute import CONTROL, REAL, SIMULATED, Run, run
from benchmarks.truth.normalise import normalise
from benchmarks.truth.records import FOLDER, Stamp, by_case, read, stamps, write
from benchmarks.truth.table import render
from tests import forked
from tests.conftest import a_part, needs_fork
from torchdevlint.symptoms import recognise

pytestmark = pytest.mark.xdist_group("truth")
MISTAKES = {"NameError", "AttributeError", "TypeError", "SyntaxError", "ImportError", "UnboundLocalError"}
PARTS = 6
STAMP = Stamp("2.11.0+cu130", "13.0", "NVIDIA H200", 1, "2026-01-01", "3.11.0", "Linux x86_64")


def run_in_fork(backend: str, cases: Sequence[Case] = ALL, **options: float) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", forked.Popen)
        return run(cases, backend, **options)


@cache
def part_simulated(part: int) -> Run:
    """One of the `PARTS` of the table on the simulated backend, with cases of every group."""
    return run_in_fork(SIMULATED, ALL[part::PARTS])


@pytest.fixture(scope="module")
def simulated() -> Run:
    """All of the table."""
    if not hasattr(os, "fork"):
        pytest.skip("the truth table runs in forked processes")
    runs = [part_simulated(part) for part in range(PARTS)]
    return replace(runs[0], observed={name: seen for each in runs for name, seen in each.observed.items()})


@pytest.fixture(scope="module")
def control() -> Run:
    if not hasattr(os, "fork"):
        pytest.skip("the truth table runs in forked processes")
    return run_in_fork(CONTROL)


def test_there_are_enough_cases_in_enough_groups():
    assert len(ALL) >= 300
    assert len({case.group for case in ALL}) >= 25


def test_ids_are_unique():
    assert [name for name, times in Counter(case.id for case in ALL).items() if times > 1] == []


def test_every_program_is_one_case():
    assert [body for body, times in Counter((c.devices, c.program) for c in ALL).items() if times > 1] == []


def test_every_program_compiles_and_shows_something_or_may_raise():
    for case in ALL:
        compile(case.program, case.id, "exec")
        if case.expects and not case.expects.raises:
            assert "seen" in case.program, case.id


def test_every_expectation_names_its_source_and_contradicts_no_record():
    """What a real GPU did is the truth: a source that says otherwise was misread."""
    assert [case.id for case in ALL if case.expects and not case.expects.source] == []
    records = by_case(ALL)
    wrong = [c.id for c in ALL if c.expects and c.id in records and not meets(c.expects, records[c.id].observed)]
    assert wrong == []


def test_a_program_with_two_devices_says_so():
    assert [c.id for c in ALL if c.devices < 2 and "second" in c.program.replace("seconds", "")] == []


def test_exceptions_are_of_cases_and_have_reasons():
    names = {case.id for case in ALL}
    assert [name for name in EXCEPTIONS if name not in names] == []
    assert all(len(reason) > 20 for reason in EXCEPTIONS.values())


@pytest.mark.slow
def test_the_control_run_finds_no_mistake_in_a_program(control: Run):
    """On the plain CPU a program may fail for want of CUDA, and never for a name or a call that is wrong."""
    mistaken = []
    for case in ALL:
        seen = control.observed.get(case.id)
        if seen is None:
            assert case.since > (2, 4), case.id
            continue
        if seen["outcome"] == "died" or set(seen.get("exception", ())) & (MISTAKES - set(case.control)):
            mistaken.append(f"{case.id}: {tell(seen)}")
    assert mistaken == []


@pytest.mark.slow
def test_most_programs_end_well_on_the_plain_cpu(control: Run):
    assert sum(seen["outcome"] == "ok" for seen in control.observed.values()) > 0.8 * len(ALL)


@needs_fork
@pytest.mark.parametrize("part", a_part(range(PARTS), of=PARTS))
def test_the_simulated_backend_does_what_the_sources_state(part: int):
    """And what real GPUs did, as far as the repository has records of it."""
    judged = judge(ALL[part::PARTS], part_simulated(part).observed, by_case(ALL))
    assert [f"{one.case.id}: {tell(one.observed)}" for one in contradictions(judged)] == []
    wrong = disagreements(judged)
    assert [f"{one.case.id}: {tell(one.observed)} / recorded: {tell(one.recorded or {})}" for one in wrong] == []


def test_cases_that_cannot_be_run_are_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Run:
        raise RuntimeError("the backend does not start")

    monkeypatch.setattr(command_line, "run", broken)
    ended = CliRunner().invoke(command_line.main, ["compare", "--json", "--only", "creation/zeros/no-device"])
    assert ended.exit_code == 2
    assert "the backend does not start" in ended.output


@pytest.mark.accelerator
def test_a_real_gpu_is_recorded(tmp_path: Path):
    import torch

    if not torch.cuda.is_available():
        pytest.skip("torch.accelerator has no CUDA device here")
    few = [case for case in ALL if case.id.startswith("zero-dim/") and case.devices == 1]
    done = run(few, REAL)
    assert done.machine["devices"] >= 1
    assert [c.id for c in few if c.expects and not meets(c.expects, done.observed[c.id])] == []


OLD = (
    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! "
    "(when checking argument for argument mat1 in method wrapper_CUDA_addmm)"
)
NEW = (
    "Expected all tensors to be on the same device, but got mat1 is on cpu, different from other tensors on cuda:0 "
    "(when checking argument in method wrapper_CUDA_addmm)"
)


def test_the_two_texts_of_the_same_device_error_are_one():
    assert normalise(OLD) == normalise(NEW)


def test_the_same_device_error_of_other_devices_is_another():
    assert normalise(OLD) != normalise(OLD.replace("cpu", "cuda:1"))


def test_advice_places_and_versions_are_left_out():
    long = (
        "CUDA error: invalid device ordinal\nSearch for `cudaErrorInvalidDevice' in https://docs.nvidia.com/x.html for "
        "more information.\nCUDA kernel errors might be asynchronously reported at some other API call.\n"
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    )
    assert normalise(long) == "CUDA error: invalid device ordinal"
    assert normalise("no at /pytorch/aten/src/ATen/x.cpp:12") == "no"
    assert normalise("ordinal 1 of 2") != normalise("ordinal 2 of 2")


def _raised(kind: str, message: str) -> dict[str, object]:
    return {"outcome": "raises", "exception": [kind, "Exception", "BaseException"], "message": message}


def test_agreement_is_of_outcome_class_text_and_what_is_seen():
    assert same(_raised("RuntimeError", OLD), _raised("RuntimeError", NEW))
    assert not same(_raised("RuntimeError", OLD), _raised("TypeError", OLD))
    assert not same(_raised("RuntimeError", "a"), _raised("RuntimeError", "b"))
    assert not same(_raised("RuntimeError", "a"), {"outcome": "ok", "seen": {}})
    assert same({"outcome": "ok", "seen": {"r": 1}}, {"outcome": "ok", "seen": {"r": 1}})
    assert not same({"outcome": "ok", "seen": {"r": 1}}, {"outcome": "ok", "seen": {"r": 2}})


def test_an_expectation_is_met_or_not():
    good = {"outcome": "ok", "seen": {"r": "cuda:0 float32 [2]"}}
    assert meets(ok("x", r="cuda:0"), good)
    assert not meets(ok("x", r="cuda"), good)
    assert not meets(ok("x", z="cuda:0"), good)
    assert meets(raises("Exception", "same device"), _raised("RuntimeError", OLD))
    assert not meets(raises("TypeError", "same device"), _raised("RuntimeError", OLD))
    assert not meets(raises("RuntimeError", "other", "words"), _raised("RuntimeError", OLD))
    assert not meets(raises("RuntimeError"), good)


def test_a_record_counts_for_its_own_program_only(tmp_path: Path):
    case = Case("a/b", "seen['r'] = 1\n")
    seen = {"outcome": "ok", "seen": {"r": 1}}
    path = write(tmp_path, STAMP, [case], {"a/b": seen})
    assert path.name == "nvidia-h200-torch-2.11.0.json"
    assert read(path)[0] == STAMP == stamps(tmp_path)[0]
    assert by_case([case], tmp_path)["a/b"].observed["seen"] == {"r": 1}
    assert by_case([Case("a/b", "seen['r'] = 2\n")], tmp_path) == {}


def test_the_latest_torch_is_believed(tmp_path: Path):
    case = Case("a/b", "seen['r'] = 1\n")
    for torch, value in (("2.9.1", 9), ("2.11.0", 11)):
        stamp = Stamp(torch, "13.0", "NVIDIA H200", 1, "2026-01-01", "3.11.0", "Linux x86_64")
        write(tmp_path, stamp, [case], {"a/b": {"outcome": "ok", "seen": {"r": value}}})
    assert by_case([case], tmp_path)["a/b"].observed["seen"] == {"r": 11}


def test_gpus_with_one_release_of_torch_did_the_same():
    """What differs by the GPU would not be for the simulation to hold."""
    files = [read(path) for path in sorted(FOLDER.glob("*.json"))]
    both = [
        (name, row, other[name])
        for number, (stamp, rows) in enumerate(files)
        for known, other in files[:number]
        if known.torch == stamp.torch
        for name, row in rows.items()
        if name in other and other[name]["program"] == row["program"]
    ]
    assert len(both) > 1_100
    assert [name for name, row, other in both if not same(row, other)] == []


def test_unrecorded_is_neither_agreement_nor_disagreement(tmp_path: Path):
    cases = [Case("a/b", "seen['r'] = 1\n"), Case("a/c", "seen['r'] = 1\n")]
    good, bad = {"outcome": "ok", "seen": {"r": 1}}, {"outcome": "ok", "seen": {"r": 2}}
    write(tmp_path, STAMP, cases[:1], {"a/b": good})
    records = by_case(cases, tmp_path)
    total = counts(judge(cases, {"a/b": good, "a/c": good}, records))["total"]
    assert (total.agree, total.disagree, total.unrecorded) == (1, 0, 1)
    judged = judge(cases, {"a/b": bad, "a/c": good}, records)
    assert [one.case.id for one in disagreements(judged)] == ["a/b"]
    assert "| **total** | 2 | 1 | 0 | 0 | 1 | 1 | 0 | 0 |" in render(judged, [STAMP], "2.13.0")


@needs_fork
def test_a_case_that_dies_or_hangs_costs_only_itself():
    cases = [
        Case("x/before", "seen['r'] = 1\n"),
        Case("x/dies", "import os\nos._exit(3)\n"),
        Case("x/hangs", "import time\ntime.sleep(60)\n"),
        Case("x/killed", "import os\nos.kill(os.getpid(), 11)\n"),
        Case("x/after", "seen['r'] = 2\n"),
    ]
    seen = run_in_fork(CONTROL, cases, seconds=3.0).observed
    assert [seen[case.id]["outcome"] for case in cases] == ["ok", "died", "died", "died", "ok"]
    assert seen["x/hangs"]["detail"] == "no end"


@needs_fork
def test_an_observation_has_no_addresses_and_is_json():
    program = "seen['t'] = torch.ones(2)\nseen['o'] = object()\nseen['n'] = np.ones(1)\nseen['d'] = torch.float16\n"
    seen = run_in_fork(CONTROL, [Case("x/y", program)]).observed["x/y"]
    assert seen["seen"] == {
        "t": "cpu float32 [2]",
        "o": "a object",
        "n": "ndarray float64 [1]",
        "d": "torch.float16",
    }
    assert json.loads(json.dumps(seen)) == seen


NOT_ABOUT_PLACES = {
    "generators/rng-state-on-cuda": "the state of a generator has to be bytes",
    "generators/cpu-rng-state-on-cuda": "the state of a generator has to be bytes",
    "generators/rng-state-all": "the state of a generator has to be bytes",
    "generators/set-state/cpu-generator-state-on-cuda": "the state of a generator has to be bytes",
    "generators/set-state/cuda-generator-state-on-cuda": "the state of a generator has to be bytes",
    "generators/set-state/cpu-generator-cuda-state": "the state of a generator has the size of its kind",
    "generators/set-state/cuda-generator-cpu-state": "the state of a generator has the size of its kind",
    "generators/set-state/cuda-generator-wrong-size": "the state of a generator has the size of its kind",
    "streams/record-stream/cpu": "a tensor of the CPU is used on no stream",
    "streams/event/elapsed-without-timing": "events",
    "streams/event/elapsed-unrecorded": "events",
    "streams/graph-capture": "what the simulation cannot do",
    "memory/out-of-memory": "memory",
    "amp/autocast/bce-is-refused": "types of numbers",
    "amp/scaler/step-without-backward": "gradients",
}
"""Cases that raise on an accelerator alone, and say nothing of devices."""
OTHER_REASONS = {"number-types": "dtype", "determinism": "determinism"}
"""Groups of such cases, and what their errors are recognised as."""


@pytest.mark.slow
@needs_fork
def test_what_raises_on_accelerators_alone_is_in_the_table_of_error_texts(simulated: Run, control: Run) -> None:
    raised = {name: seen["message"] for name, seen in simulated.observed.items() if seen["outcome"] == "raises"}
    own = {name: text for name, text in raised.items() if control.observed.get(name, {}).get("message") != text}
    assert len(own) > 300
    found = {name: recognise(text) for name, text in own.items()}
    unknown = {name for name, one in found.items() if one is None or not one.symptom.is_of_devices}
    others = {name: one.symptom.name for name, one in found.items() if name.partition("/")[0] in OTHER_REASONS and one}
    assert len(others) > 10
    assert others == {name: OTHER_REASONS[name.partition("/")[0]] for name in others}
    assert unknown - others.keys() == NOT_ABOUT_PLACES.keys() & own.keys()
