"""The lowest rung: the probes of the rules. One execution is shared by all findings of a rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torchdevlint import rules
from torchdevlint.runtime import backends
from torchdevlint.runtime.child import Call, Ended, Limits, Outcome
from torchdevlint.runtime.verify.probe import Probe, read
from torchdevlint.runtime.verify.server import Server
from torchdevlint.runtime.verify.verdict import Evidence, Judgement, Rung, Verdict, exception_line, judge

NO_PROBE = "the rule is about the text of the source: there is nothing to execute"


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a probe runs: the `device` it is given, and the `backend` that the verdict names.

    `simulate` is how many accelerators are simulated for it.
    """

    device: str
    backend: str
    hide: bool = False
    simulate: int = 0


def probed(
    codes: Iterable[str],
    machine: backends.Machine,
    server: Server,
    device: str | None,
    asked: str = "auto",
    limits: Limits | None = None,
) -> dict[str, Judgement]:
    """What the probe of each rule shows on `device`, the accelerator to use, or without one."""
    probes = {code: _probe(code) for code in sorted(set(codes))}
    several = any(each.name == "cuda" and len(each.devices) > 1 for each in machine.accelerators)
    placements = {code: place(probe, device, asked, several) for code, probe in probes.items() if probe is not None}
    judgements = {
        code: _judgement(code, probe, placement, machine.torch, limits or Limits(), server)
        for code, placement in placements.items()
        if isinstance(placement, Placement) and (probe := probes[code]) is not None
    }
    nowhere = device.partition(":")[0] if device else backends.CPU
    for code, probe in probes.items():
        if code not in judgements:
            why, claim = (NO_PROBE, "") if probe is None else (str(placements[code]), probe.claim)
            judgements[code] = Judgement(Verdict.INCONCLUSIVE, Rung.PROBE, nowhere, machine.torch, why, claim)
    return judgements


def place(probe: Probe, device: str | None, asked: str = "auto", several: bool = False) -> Placement | str:
    """Where `probe` runs if `device` is the accelerator to use, or why it cannot.

    Without one, or without `several` CUDA devices where it takes two, accelerators are simulated, unless none at all
    was `asked` for.
    """
    if probe.needs == "cpu":
        return Placement(backends.CPU, backends.CPU, hide=True)
    of_its_kind = device is not None and (probe.needs not in ("cuda", "two") or device.startswith("cuda"))
    if device is not None and of_its_kind and (probe.needs != "two" or several):
        return Placement(device, device.partition(":")[0])
    if asked != backends.CPU:
        return Placement("cuda", backends.SIMULATED, simulate=2)
    if probe.needs == "device":
        return Placement(backends.META, backends.META)
    what = {"cuda": "a CUDA device", "two": "two CUDA devices"}.get(probe.needs, "an accelerator")
    return f"the probe needs {what}, and --device cpu leaves none"


def calls(name: str, probe: Probe, placement: Placement, limits: Limits) -> tuple[Call, Call]:
    """The executions of one probe: the pattern, and its repaired form as the control."""
    on_hardware = placement.backend not in (backends.CPU, backends.META, backends.SIMULATED)
    asks_a_driver = on_hardware or placement.hide  # which maps more than a limit would leave, be its devices hidden
    bounded = Limits(limits.seconds, None if asks_a_driver else limits.memory)
    device = placement.device if probe.imports_torch else None
    flagged, repaired = (
        Call("call", f"<probe of {name}>", probe.source, function, device, placement.hide, placement.simulate, bounded)
        for function in ("flagged", "repaired")
    )
    return flagged, repaired


def conclude(probe: Probe, placement: Placement, torch: str, flagged: Outcome, repaired: Outcome) -> Judgement:
    """The judgement on the two executions of a probe."""
    verdict, reason = judge(probe, flagged, repaired)
    if placement.backend == backends.META and verdict is not Verdict.INCONCLUSIVE:
        reason = f"{reason} (`meta` stood in for an accelerator)"
    observed = {
        name: outcome.value
        for name, outcome in (("flagged", flagged), ("repaired", repaired))
        if outcome.ended is Ended.RETURNED
    }
    evidence = Evidence(
        exception=exception_line(flagged),
        traceback=flagged.traceback or flagged.output or None,
        observed=observed or None,
        inputs={"device": placement.device},
    )
    return Judgement(verdict, Rung.PROBE, placement.backend, torch, reason, probe.claim, evidence)


def _judgement(code: str, probe: Probe, placement: Placement, torch: str, limits: Limits, server: Server) -> Judgement:
    flagged, repaired = (server.run(call) for call in calls(code, probe, placement, limits))
    return conclude(probe, placement, torch, flagged, repaired)


def _probe(code: str) -> Probe | None:
    source = rules.by_code()[code].probe
    return None if source is None else read(source)
