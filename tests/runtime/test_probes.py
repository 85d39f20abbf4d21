"""The probe of every rule, executed on this machine, and the form that probes have."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from tests.conftest import a_part
from torchdevlint.explain import pasted
from torchdevlint.rules import all_rules
from torchdevlint.runtime import backends
from torchdevlint.runtime.child import Limits, run_all
from torchdevlint.runtime.verify.hardware import accelerator, survey
from torchdevlint.runtime.verify.probe import read
from torchdevlint.runtime.verify.probes import NO_PROBE, Placement, calls, conclude, place, probed
from torchdevlint.runtime.verify.server import Server
from torchdevlint.runtime.verify.verdict import HOLDS, Judgement, Rung, Verdict

PROBES = {rule.code: read(rule.probe) for rule in all_rules() if rule.probe is not None}
each_probe = pytest.mark.parametrize("code", a_part(sorted(PROBES)))
ON_ACCELERATORS = sorted(code for code, probe in PROBES.items() if probe.needs != "cpu")


@cache
def machine() -> backends.Machine:
    return survey()


@pytest.fixture(scope="session")
def on_cpu(server: Server) -> Callable[[str], Judgement]:
    """What the probe of a rule shows with `--device cpu`."""
    return cache(lambda code: probed([code], machine(), server, None, "cpu")[code])


def assert_explained(code: str, judgement: Judgement) -> None:
    """What a probe raised is a symptom of its rule, by its text and by its traceback."""
    raised = judgement.evidence.exception
    for text in (raised, judgement.evidence.traceback) if raised else ():
        error, _ = pasted.read(text or "")
        assert error is not None
        assert error.recognised is not None, text
        assert code in error.recognised.symptom.rules


@each_probe
def test_without_an_accelerator_a_probe_confirms_or_says_what_it_needs(
    code: str, on_cpu: Callable[[str], Judgement]
) -> None:
    judgement = on_cpu(code)
    assert judgement.rung is Rung.PROBE
    assert judgement.torch == machine().torch
    assert judgement.claim == PROBES[code].claim
    if PROBES[code].needs in ("cpu", "device"):
        assert judgement.verdict is Verdict.CONFIRMED, judgement
        assert judgement.reason.startswith(HOLDS)
        assert_explained(code, judgement)
    else:
        assert judgement.verdict is Verdict.INCONCLUSIVE
        assert "the probe needs " in judgement.reason
        assert "--device cpu leaves none" in judgement.reason
        assert judgement.evidence.exception is None
        assert judgement.evidence.observed is None


@pytest.mark.parametrize("code", a_part(ON_ACCELERATORS))
def test_every_probe_confirms_on_simulated_accelerators(code: str, server: Server) -> None:
    judgement = probed([code], machine(), server, None, "simulated")[code]
    assert judgement.verdict is Verdict.CONFIRMED, judgement
    assert judgement.backend == "simulated"
    assert_explained(code, judgement)


@pytest.mark.accelerator
@pytest.mark.parametrize("code", ON_ACCELERATORS)
def test_every_probe_confirms_on_real_accelerators(code: str, server: Server) -> None:
    there = accelerator(machine(), "auto")
    several = any(len(each.devices) > 1 for each in machine().accelerators)
    if there is None or isinstance(place(PROBES[code], there, "cpu", several), str):
        pytest.skip("no accelerator here that the probe could use; simulated ones are another test's")
    judgement = probed([code], machine(), server, there)[code]
    assert judgement.verdict is Verdict.CONFIRMED, judgement
    assert judgement.backend == there.partition(":")[0]


@pytest.mark.slow
@pytest.mark.parametrize("code", a_part(["TDL004", "TDL201"]))
def test_a_fork_of_the_process_that_executes_shows_what_a_fresh_process_shows(code: str, server: Server) -> None:
    placement = place(PROBES[code], None)
    assert isinstance(placement, Placement)
    flagged, _ = calls(code, PROBES[code], placement, Limits())
    (fresh,) = run_all([flagged])
    assert fresh.exception
    assert server.run(flagged) == fresh


@pytest.mark.parametrize("code", ["TDL001", "TDL002", "TDL201", "TDL202", "TDL302"])
def test_a_founding_claim_that_a_cpu_can_show_is_shown(code: str, on_cpu: Callable[[str], Judgement]) -> None:
    assert on_cpu(code).verdict is Verdict.CONFIRMED


def test_meta_is_named_where_it_stands_in(on_cpu: Callable[[str], Judgement]) -> None:
    judgement = on_cpu("TDL001")
    assert judgement.backend == "meta"
    assert "`meta` stood in for an accelerator" in judgement.reason


def test_a_gpu_checkpoint_raises_the_genuine_error(on_cpu: Callable[[str], Judgement]) -> None:
    evidence = on_cpu("TDL201").evidence
    assert evidence.exception is not None
    assert evidence.exception.startswith(
        "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False."
    )
    assert evidence.traceback is not None
    assert "torch/serialization.py" in evidence.traceback.replace("\\", "/")
    assert evidence.observed == {"repaired": {"weight": "cpu"}}
    assert evidence.inputs == {"device": "cpu"}


def test_a_data_parallel_state_dict_is_refused_by_the_model_itself(on_cpu: Callable[[str], Judgement]) -> None:
    exception = on_cpu("TDL202").evidence.exception
    assert exception is not None
    assert 'Missing key(s) in state_dict: "weight", "bias"' in exception
    assert 'Unexpected key(s) in state_dict: "module.weight", "module.bias"' in exception


def test_a_dropped_move_moves_modules_and_not_tensors(on_cpu: Callable[[str], Judgement]) -> None:
    observed = on_cpu("TDL001").evidence.observed
    assert observed is not None
    assert observed["flagged"] == {"labels moved": False, "labels converted": False, "module moved": True}
    assert set(observed["repaired"].values()) == {True}


def test_the_hidden_state_of_tdl003_is_refused_by_torch_itself(server: Server) -> None:
    """`meta` lets many mixes pass, so it proves nothing of the rule; this pattern it does refuse, as CUDA does."""
    probe = PROBES["TDL003"]
    placement = Placement("meta", "meta")
    flagged, repaired = (server.run(call) for call in calls("TDL003", probe, placement, Limits()))
    judgement = conclude(probe, placement, machine().torch, flagged, repaired)
    assert judgement.verdict is Verdict.CONFIRMED, judgement
    assert judgement.evidence.exception is not None
    assert "Input and hidden tensors are not at the same device" in judgement.evidence.exception


def test_a_rule_about_text_has_nothing_to_execute(on_cpu: Callable[[str], Judgement]) -> None:
    for rule in all_rules():
        if rule.probe is None:
            judgement = on_cpu(rule.code)
            assert (judgement.verdict, judgement.reason) == (Verdict.INCONCLUSIVE, NO_PROBE)


WHOLE = '''"""A claim."""
NEEDS = "cpu"
OBSERVES = {"x": 1}
def flagged(device): return {"x": 1}
def repaired(device): return {"x": 2}
'''


def test_a_probe_is_read_without_being_executed() -> None:
    probe = read('"""A claim\nin two lines."""\nimport torch.nn\n' + WHOLE.split("\n", 1)[1] + "raise SystemExit\n")
    assert probe.claim == "A claim in two lines."
    assert probe.needs == "cpu"
    assert probe.observes == (("x", 1),)
    assert probe.imports_torch
    assert not read(WHOLE).imports_torch


@pytest.mark.parametrize(
    ("part", "instead", "complaint"),
    [
        ('"""A claim."""', "", "claim"),
        ('"cpu"', '"gpu"', "NEEDS is one of"),
        ('NEEDS = "cpu"', "", "NEEDS is one of"),
        ("OBSERVES", "RAISED", "either RAISES or OBSERVES"),
        ('{"x": 1}\ndef', '{"x": 1}\nRAISES = {"ValueError": [""]}\ndef', "either RAISES or OBSERVES"),
        ("repaired", "mended", "defines repaired"),
        ("flagged", "shown", "defines flagged"),
    ],
)
def test_what_is_not_a_whole_probe_is_refused(part: str, instead: str, complaint: str) -> None:
    assert part in WHOLE
    with pytest.raises(ValueError, match=complaint):
        read(WHOLE.replace(part, instead, 1))


def test_where_a_driver_is_asked_the_address_space_is_not_limited() -> None:
    """A GPU's driver maps more than that, be its devices hidden: it would say that it is out of memory."""
    hidden = PROBES["TDL012"]
    assert place(hidden, "cuda:0") == Placement(backends.CPU, backends.CPU, hide=True)
    for placement, limited in (
        (Placement(backends.CPU, backends.CPU, hide=True), False),
        (Placement("cuda:0", "cuda"), False),
        (Placement("cuda", backends.SIMULATED, simulate=2), True),
    ):
        for call in calls("TDL012", hidden, placement, Limits()):
            assert (call.limits.memory is not None) == limited
