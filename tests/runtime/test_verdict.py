"""Which verdict follows from what happened, and what a verdict looks like as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from torchdevlint.runtime import backends
from torchdevlint.runtime.child import Ended, Limits, Outcome
from torchdevlint.runtime.verify import Order, verify
from torchdevlint.runtime.verify.hardware import UnusableError, accelerator
from torchdevlint.runtime.verify.probe import Probe, read
from torchdevlint.runtime.verify.probes import Placement, calls, conclude, place, probed
from torchdevlint.runtime.verify.server import Server
from torchdevlint.runtime.verify.verdict import Rung, Verdict, judge, to_json

RAISING = read(
    '"""A claim."""\nNEEDS = "cpu"\nRAISES = {"OSError": ["no such", "missing"]}\n'
    "def flagged(device): ...\ndef repaired(device): ...\n"
)
SILENT = read(
    '"""A claim."""\nNEEDS = "cpu"\nOBSERVES = {"moved": False}\ndef flagged(device): ...\ndef repaired(device): ...\n'
)


def raised(*names: str, message: str) -> Outcome:
    return Outcome(Ended.RAISED, exception=names, message=message)


def returned(value: object) -> Outcome:
    return Outcome(Ended.RETURNED, value=value)


SYMPTOM = raised("FileNotFoundError", "OSError", message="it is missing")
DEAD = Outcome(Ended.DIED, detail="it was killed by SIGSEGV")
SLOW = Outcome(Ended.TIMED_OUT, detail="no end after 30 s")


@pytest.mark.parametrize(
    ("probe", "flagged", "repaired", "verdict", "words"),
    [
        (RAISING, SYMPTOM, returned({}), Verdict.CONFIRMED, "your code was not executed"),
        (RAISING, returned({}), returned({}), Verdict.REFUTED, "nothing went wrong"),
        (RAISING, raised("OSError", message="disk full"), returned({}), Verdict.INCONCLUSIVE, "OSError: disk full"),
        (RAISING, raised("ValueError", message="no such"), returned({}), Verdict.INCONCLUSIVE, "something else"),
        (RAISING, SYMPTOM, SYMPTOM, Verdict.INCONCLUSIVE, "the repaired form fails as well"),
        (RAISING, SYMPTOM, DEAD, Verdict.INCONCLUSIVE, "SIGSEGV"),
        (RAISING, DEAD, returned({}), Verdict.INCONCLUSIVE, "SIGSEGV"),
        (RAISING, SLOW, returned({}), Verdict.INCONCLUSIVE, "no end after 30 s"),
        (SILENT, returned({"moved": False}), returned({"moved": True}), Verdict.CONFIRMED, "claim holds"),
        (SILENT, returned({"moved": True}), returned({"moved": True}), Verdict.REFUTED, "nothing went wrong"),
        (SILENT, returned({"moved": False}), returned({"moved": False}), Verdict.INCONCLUSIVE, "it shows the same"),
        (SILENT, returned({"moved": False}), SYMPTOM, Verdict.INCONCLUSIVE, "it is missing"),
        (SILENT, returned(None), returned({"moved": True}), Verdict.INCONCLUSIVE, "did not return"),
        (SILENT, SYMPTOM, returned({"moved": True}), Verdict.INCONCLUSIVE, "something else"),
    ],
)
def test_the_verdict_follows_from_both_executions(
    probe: Probe, flagged: Outcome, repaired: Outcome, verdict: Verdict, words: str
) -> None:
    got, reason = judge(probe, flagged, repaired)
    assert got is verdict
    assert words in reason


HOSTILE = {
    "loop": "while True: pass",
    "exit": "import os; os._exit(3)",
    "segfault": "import ctypes; ctypes.string_at(0)",
    "hog": "hog = [bytearray(50_000_000) for _ in range(1000)]",
    "flood": "import sys; [print('x' * 100000) for _ in range(1000)]; sys.exit(1)",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_probe_is_inconclusive_with_a_reason(name: str, server: Server) -> None:
    body = HOSTILE[name]
    probe = replace(RAISING, source=f"def flagged(device): {body}\ndef repaired(device): return {{}}\n")
    placement = Placement("cpu", "cpu", hide=True)
    limits = Limits(seconds=3.0, memory=600 << 20)
    flagged, repaired = (server.run(call) for call in calls(name, probe, placement, limits))
    judgement = conclude(probe, placement, "2.13", flagged, repaired)
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert judgement.reason
    assert json.dumps(to_json(judgement))


def machine(*accelerators: tuple[str, int]) -> backends.Machine:
    hardware = tuple(
        backends.Backend(name, "hardware", (backends.Device("a card", 1 << 34),) * count, "1.0")
        for name, count in accelerators
    )
    cpu = backends.Backend("cpu", "cpu", (backends.Device("cores"),))
    return backends.Machine("2.13", "3.11", "Linux", (*hardware, cpu))


@pytest.mark.parametrize(
    ("there", "asked", "device"),
    [
        ((), "auto", None),
        ((("cuda", 2),), "auto", "cuda"),
        ((("cuda", 2),), "cpu", None),
        ((("cuda", 2),), "cuda:1", "cuda:1"),
        ((("mps", 1),), "mps", "mps"),
    ],
)
def test_the_device_that_is_used(there: tuple[tuple[str, int], ...], asked: str, device: str | None) -> None:
    assert accelerator(machine(*there), asked) == device


@pytest.mark.parametrize("asked", ["cuda:2", "xpu", "gpu", "cuda:x", "", "cuda:-1"])
def test_a_device_that_is_not_there_is_refused(asked: str) -> None:
    with pytest.raises(UnusableError, match=r"there is: cpu, cuda \(2\)"):
        accelerator(machine(("cuda", 2)), asked)


def test_a_probe_goes_where_its_need_is_met() -> None:
    def where(needs: str, device: str | None) -> Placement | str:
        return place(replace(RAISING, needs=needs), device)

    assert where("cpu", "cuda") == Placement("cpu", "cpu", hide=True)
    assert where("device", "cuda:1") == Placement("cuda:1", "cuda")
    assert where("device", None) == Placement("cuda", "simulated", simulate=2)
    assert place(replace(RAISING, needs="device"), None, "cpu") == Placement("meta", "meta")
    assert where("accelerator", "mps") == Placement("mps", "mps")
    assert where("cuda", "cuda") == Placement("cuda", "cuda")
    assert where("cuda", "mps") == where("accelerator", None) == Placement("cuda", "simulated", simulate=2)
    why = place(replace(RAISING, needs="cuda"), None, "cpu")
    assert why == "the probe needs a CUDA device, and --device cpu leaves none"


def test_address_space_is_limited_where_no_driver_reserves_it() -> None:
    on_cpu, _ = calls("x", RAISING, Placement("meta", "meta"), Limits(5, 100))
    on_cuda, _ = calls("x", RAISING, Placement("cuda", "cuda"), Limits(5, 100))
    assert on_cpu.limits == Limits(5, 100)
    assert on_cuda.limits == Limits(5, None)


def test_a_machine_survives_its_json() -> None:
    here = machine(("cuda", 2), ("xpu", 1))
    assert backends.from_json(json.loads(json.dumps(backends.to_json(here)))) == here


def test_the_json_of_a_verdict_has_the_published_fields(server: Server) -> None:
    row = to_json(probed(["TDL302"], machine(), server, None)["TDL302"])
    assert list(row) == ["verdict", "rung", "backend", "torch", "claim", "evidence", "reason", "reasons"]
    assert list(row["evidence"]) == ["exception", "traceback", "observed", "inputs"]
    assert row["verdict"] == "confirmed"
    assert row["rung"] == "probe"
    assert row["rung"] in [rung.value for rung in Rung]
    assert row["backend"] == "cpu"
    assert row["torch"] == "2.13"
    assert json.loads(json.dumps(row)) == row


def test_nothing_found_executes_nothing() -> None:
    assert verify([], machine(), Order()) == []
