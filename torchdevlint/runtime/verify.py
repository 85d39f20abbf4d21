"""Executes what the rules claim, and gives every finding its verdict.

The rung there is so far is the *probe*, the minimal program of the finding's rule. It depends on the rule alone, so all
findings of a rule share one execution.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass

from torchdevlint import rules
from torchdevlint.model import Diagnostic
from torchdevlint.runtime import backends
from torchdevlint.runtime.child import Call, Ended, Limits, Outcome, run_all
from torchdevlint.runtime.probe import Probe, read
from torchdevlint.runtime.verdict import Evidence, Judgement, Rung, Verdict, Verified, exception_line, judge

NO_TORCH = 'torch is not installed here: pip install "torchdevlint[verify]"'
NO_PROBE = "the rule is about the text of the source: there is nothing to execute"
SURVEY_SECONDS = 120.0


class UnusableError(Exception):
    """Nothing can be executed here, or not on the device that was asked for; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a probe runs: the `device` it is given, and the `backend` that the verdict names."""

    device: str
    backend: str
    hide: bool = False


def require_torch() -> None:
    """Raises UnusableError if torch is not installed; it is not imported to find out."""
    if importlib.util.find_spec("torch") is None:
        raise UnusableError(NO_TORCH)


def survey() -> backends.Machine:
    """What there is to execute on, asked in a child process. Raises UnusableError without a working torch."""
    require_torch()
    (outcome,) = run_all([Call("backends", limits=Limits(SURVEY_SECONDS, memory=None))])
    if outcome.ended is not Ended.RETURNED:
        last = (outcome.output.strip().splitlines() or [""])[-1]
        raise UnusableError(f"torch does not work here: {exception_line(outcome) or outcome.detail or last}")
    return backends.from_json(outcome.value)


def accelerator(machine: backends.Machine, wanted: str) -> str | None:
    """The device to use for `wanted` (``auto``, ``cpu``, or a device such as ``cuda:1``); None for no accelerator.

    Raises UnusableError for a device that is not there.
    """
    if wanted == "auto":
        return next((backend.name for backend in machine.accelerators), None)
    if wanted == backends.CPU:
        return None
    kind, _, index = wanted.partition(":")
    for backend in machine.accelerators:
        if backend.name == kind and (not index or (index.isdigit() and int(index) < len(backend.devices))):
            return wanted
    there = [f"{backend.name} ({len(backend.devices)})" for backend in machine.accelerators]
    raise UnusableError(f"no device {wanted!r} here; there is: {', '.join(['cpu', *there])}")


def place(probe: Probe, device: str | None, asked: str = "auto") -> Placement | str:
    """Where `probe` runs if `device` is the accelerator to use, or why it cannot."""
    if probe.needs == "cpu":
        return Placement(backends.CPU, backends.CPU, hide=True)
    if probe.needs == "device":
        return Placement(device, device.partition(":")[0]) if device else Placement(backends.META, backends.META)
    what = "a CUDA device" if probe.needs == "cuda" else "an accelerator"
    if device is None:
        missing = "--device cpu leaves none" if asked == backends.CPU else "there is none here"
        return f"the probe needs {what}, and {missing}; run this on a machine with one"
    if probe.needs == "cuda" and not device.startswith("cuda"):
        return f"the probe needs {what}, and {device} is none; run this on a machine with one"
    return Placement(device, device.partition(":")[0])


def verify(
    diagnostics: Sequence[Diagnostic], machine: backends.Machine, asked: str = "auto", limits: Limits | None = None
) -> list[Verified]:
    """Every finding with its judgement, in the order given; the probes of the rules behind them are executed."""
    device = accelerator(machine, asked)
    probes = {code: _probe(code) for code in sorted({diagnostic.code for diagnostic in diagnostics})}
    placements = {code: place(probe, device, asked) for code, probe in probes.items() if probe is not None}
    judgements = _execute(probes, placements, machine.torch, limits or Limits())
    nowhere = device.partition(":")[0] if device else backends.CPU
    for code, probe in probes.items():
        if code not in judgements:
            why, claim = (NO_PROBE, "") if probe is None else (str(placements[code]), probe.claim)
            judgements[code] = Judgement(Verdict.INCONCLUSIVE, Rung.PROBE, nowhere, machine.torch, why, claim)
    return [Verified(diagnostic, judgements[diagnostic.code]) for diagnostic in diagnostics]


def calls(name: str, probe: Probe, placement: Placement, limits: Limits) -> tuple[Call, Call]:
    """The executions of one probe: the pattern, and its repaired form as the control."""
    on_hardware = placement.backend not in (backends.CPU, backends.META)
    bounded = Limits(limits.seconds, None if on_hardware else limits.memory)
    device = placement.device if probe.imports_torch else None
    flagged, repaired = (
        Call("call", f"<probe of {name}>", probe.source, function, device, placement.hide, bounded)
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


def _execute(
    probes: dict[str, Probe | None], placements: dict[str, Placement | str], torch: str, limits: Limits
) -> dict[str, Judgement]:
    runnable = [
        (code, probe, placement)
        for code, placement in placements.items()
        if isinstance(placement, Placement) and (probe := probes[code]) is not None
    ]
    outcomes = run_all([call for code, probe, placement in runnable for call in calls(code, probe, placement, limits)])
    return {
        code: conclude(probe, placement, torch, outcomes[2 * number], outcomes[2 * number + 1])
        for number, (code, probe, placement) in enumerate(runnable)
    }


def _probe(code: str) -> Probe | None:
    source = rules.by_code()[code].probe
    return None if source is None else read(source)
