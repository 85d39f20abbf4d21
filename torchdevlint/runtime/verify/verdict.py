"""What the execution of a finding proves, and its JSON form.

`Verdict.CONFIRMED`: the symptom happened, and did not happen without the pattern. `REFUTED`: the pattern ran and
nothing went wrong. `INCONCLUSIVE`: it could not be executed, or what happened proves nothing; never a pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from torchdevlint import rules
from torchdevlint.model import Diagnostic
from torchdevlint.runtime.child import Ended, Outcome
from torchdevlint.runtime.verify.probe import Probe
from torchdevlint.runtime.verify.reasons import Why, why

HOLDS = "the rule's claim holds on this machine; your code was not executed"
DOES_NOT_HOLD = (
    "the pattern ran and nothing went wrong, so the rule's claim does not hold on this machine; "
    "your code was not executed"
)
APART = ("checkpoint",)
"""Ways of execution whose findings are counted apart (TDL201)."""


class Verdict(str, Enum):
    """What is known of a finding after execution."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"


class Rung(str, Enum):
    """What was executed, from the user's own entry down to the rule's minimal program."""

    EXAMPLE = "example"
    SYNTHESISED = "synthesised"
    SLICE = "slice"
    PROBE = "probe"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What happened. `observed` and `inputs` hold plain values; all are None where there is nothing to show."""

    exception: str | None = None
    traceback: str | None = None
    observed: Mapping[str, Any] | None = None
    inputs: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with all that makes it checkable: `backend` is where it was, or would have been, executed.

    `reason` is one line; `reasons` say of every rung that was tried why it shows nothing.
    """

    verdict: Verdict
    rung: Rung
    backend: str
    torch: str
    reason: str
    claim: str = ""
    evidence: Evidence = Evidence()
    reasons: tuple[tuple[Rung, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Verified:
    """A finding and its judgement."""

    diagnostic: Diagnostic
    judgement: Judgement

    @property
    def apart(self) -> bool:
        """Whether it is counted apart from the others, whatever the verdict: what was executed is the flagged statement
        with a file of ours, which shows what such a load does, and not that the program comes to such a file.
        """
        return rules.by_code()[self.diagnostic.code].execution in APART

    @property
    def why(self) -> Why | None:
        """Why it is inconclusive, in a line, and what would help; None for another verdict."""
        if self.judgement.verdict is not Verdict.INCONCLUSIVE:
            return None
        return why([text for _, text in self.judgement.reasons] or [self.judgement.reason])


def fields_of(verified: Verified) -> dict[str, Any]:
    """What `verify` adds to a finding's JSON object: the judgement, how it is counted, and what would help."""
    found = verified.why
    return {
        **to_json(verified.judgement),
        "counted_apart": verified.apart,
        "inconclusive": None if found is None else {"group": found.group, "advice": found.advice},
    }


def to_json(judgement: Judgement) -> dict[str, Any]:
    """A judgement as JSON."""
    evidence = judgement.evidence
    return {
        "verdict": judgement.verdict.value,
        "rung": judgement.rung.value,
        "backend": judgement.backend,
        "torch": judgement.torch,
        "claim": judgement.claim,
        "evidence": {
            "exception": evidence.exception,
            "traceback": evidence.traceback,
            "observed": evidence.observed,
            "inputs": evidence.inputs,
        },
        "reason": judgement.reason,
        "reasons": [{"rung": rung.value, "reason": reason} for rung, reason in judgement.reasons],
    }


def judge(probe: Probe, flagged: Outcome, repaired: Outcome) -> tuple[Verdict, str]:
    """The verdict on a probe's claim, with the reason in words."""
    unfinished = next((each for each in (flagged, repaired) if each.ended in (Ended.DIED, Ended.TIMED_OUT)), None)
    if unfinished is not None:
        return Verdict.INCONCLUSIVE, f"the probe did not finish: {unfinished.detail}"
    if not shows_symptom(probe, flagged):
        if flagged.ended is Ended.RAISED:
            return Verdict.INCONCLUSIVE, f"the probe raised something else than its symptom: {exception_line(flagged)}"
        if probe.observes and not _observed_the_same_things(probe, flagged):
            return Verdict.INCONCLUSIVE, "the probe did not return what it was to observe"
        return Verdict.REFUTED, DOES_NOT_HOLD
    if repaired.ended is Ended.RETURNED and not shows_symptom(probe, repaired):
        return Verdict.CONFIRMED, HOLDS
    failure = exception_line(repaired) or repaired.detail or "it shows the same"
    return Verdict.INCONCLUSIVE, f"the repaired form fails as well, so the symptom proves nothing: {failure}"


def shows_symptom(probe: Probe, outcome: Outcome) -> bool:
    """Whether what happened is the symptom that the probe announces."""
    if probe.raises:
        return outcome.ended is Ended.RAISED and any(
            name in outcome.exception and any(part in outcome.message for part in parts) for name, parts in probe.raises
        )
    return outcome.ended is Ended.RETURNED and outcome.value == dict(probe.observes)


def exception_line(outcome: Outcome) -> str | None:
    """The exception as Python prints it, or None if there was none."""
    if outcome.ended is not Ended.RAISED:
        return None
    return f"{outcome.exception[0]}: {outcome.message}" if outcome.message else outcome.exception[0]


def _observed_the_same_things(probe: Probe, outcome: Outcome) -> bool:
    return isinstance(outcome.value, dict) and outcome.value.keys() == dict(probe.observes).keys()
