"""The rungs that are about one finding, from the user's own entry down to a slice: what each says, and the verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torchdevlint import rules
from torchdevlint.model import Diagnostic, Span
from torchdevlint.rules.mixed import TOO
from torchdevlint.runtime.backends import CPU, SIMULATED
from torchdevlint.runtime.child import GIB, Limits
from torchdevlint.runtime.execute.reading import shows_its_use
from torchdevlint.runtime.verify.probe import Probe, read
from torchdevlint.runtime.verify.server import Answer, Server
from torchdevlint.runtime.verify.verdict import Evidence, Judgement, Rung, Verdict

_EXCEPTION = re.compile(r"\b(\w+(?:Error|Iteration)): (.+?)(?:,? where .*| \(.*\))?$")
ALSO = "here too"
"""What a note says of a finding that was joined to another (`torchdevlint.joined`)."""
MOST_OTHERS = 3
"""How often other values are looked for with which a program runs, where those before showed nothing."""
ALWAYS_SIMULATED = ("checkpoint", "environment")
"""What is about machines that this one is not."""


@dataclass(frozen=True, slots=True)
class Order:
    """How findings are executed.

    `device` is a real accelerator, ``simulated``, of which there are `accelerators` then, or ``cpu``, on which only the
    rules' own programs are run. `examples` say how to
    build what was flagged; `root` is the folder that their modules are imported from.
    """

    device: str = SIMULATED
    accelerators: int = 2
    limits: Limits = field(default_factory=Limits)
    examples: Mapping[str, str] | None = None
    root: Path | None = None
    torch: str = ""


@dataclass(frozen=True, slots=True)
class Climb:
    """What the rungs gave: a judgement, or the reasons why there is none, by rung."""

    judgement: Judgement | None
    reasons: tuple[tuple[Rung, str], ...] = ()


def climb(diagnostic: Diagnostic, order: Order, server: Server) -> Climb:
    """Execute one finding on the first rung that says something of it."""
    mode = rules.by_code()[diagnostic.code].execution
    if mode is None or diagnostic.cell is not None or order.device == CPU:
        return Climb(None)
    reasons: list[tuple[Rung, str]] = []
    for rung in _rungs(diagnostic, order):
        judgement, why = _step(diagnostic, mode, rung, order, server)
        if judgement is not None:
            return Climb(judgement, tuple(reasons))
        reasons.append((rung, why))
    return Climb(None, tuple(reasons))


def _rungs(diagnostic: Diagnostic, order: Order) -> Iterator[Rung]:
    if order.examples:
        yield Rung.EXAMPLE
    yield Rung.SYNTHESISED
    yield Rung.SLICE


def _step(diagnostic: Diagnostic, mode: str, rung: Rung, order: Order, server: Server) -> tuple[Judgement | None, str]:
    """What one rung says, on the first machine on which it says something, or why it says nothing."""
    finding = finding_of(diagnostic)
    spent, reasons = 0, []
    for device, count in _machines(mode, finding["on_cpu"], order):
        request: dict[str, Any] = {
            "finding": finding,
            "mode": mode,
            "rung": rung.value,
            "device": device,
            "accelerators": count,
            "seconds": order.limits.seconds,
            "memory": order.limits.memory if device == SIMULATED else None,
            "examples": dict(order.examples or {}),
            "paths": [str(order.root or Path.cwd()), str(Path.cwd())],
        }
        if rung is Rung.SYNTHESISED:
            request["seen"] = _seen(request, server)
        shown, spent, whys = _shown(request, spent, order, server)
        reasons += whys
        if shown is not None:
            verdict = Verdict.CONFIRMED if shown["symptom"] else Verdict.REFUTED
            given = (shown["exception"], shown["traceback"], shown["observed"] or None, shown["inputs"] or None)
            reason = _reason(verdict, rung, mode, spent, count == 0, shown["later"]) + _after(shown["passed"])
            backend = device.partition(":")[0]
            return Judgement(verdict, rung, backend, order.torch, reason, "", Evidence(*given)), ""
    return None, "; ".join(dict.fromkeys(filter(None, reasons)))


def _machines(mode: str, on_cpu: bool, order: Order) -> Iterator[tuple[str, int]]:
    """Where a finding is executed: a device, and how many accelerators there are.

    What shows without an accelerator is executed without one first, and then where there are some as well: a device
    that does not exist may be asked for only there.
    """
    if on_cpu:
        yield SIMULATED, 0
    yield (SIMULATED if mode in ALWAYS_SIMULATED else order.device), order.accelerators


def _shown(
    request: dict[str, Any], spent: int, order: Order, server: Server
) -> tuple[dict[str, Any] | None, int, list[str]]:
    """What the programs of a rung show on one machine, how many values were tried by then, and why others are silent.

    The limit on tries holds for all programs and machines of a rung together.
    """
    reasons: list[str] = []
    first = skip = 0
    while True:
        memory = order.limits.memory or 8 * GIB
        ask = {**request, "do": "find", "first": first, "skip": skip, "spent": spent, "memory": memory}
        answer = server.ask(ask)
        found = answer.value
        if answer.ended != "returned" or found["program"] is None:
            reasons.append(_why(answer, "the search for values", "why"))
            return None, found["runs"] if answer.ended == "returned" else spent, reasons
        skip = skip if found["program"] == first else 0
        answer = server.ask({**request, "do": "execute", "program": found["program"], "values": found["values"]})
        shown: dict[str, Any] = answer.value
        later = found.get("later", "")
        if answer.ended == "returned" and (shown["symptom"] or (shown["symptom"] is False and not skip and not later)):
            return {**shown, "later": later}, found["runs"], reasons
        reasons += [] if skip else [found["why"] if later else _why(answer, "the run on the accelerator", "reason")]
        if answer.ended == "timed out":
            return None, found["runs"], reasons
        if answer.ended == "returned" and shown.get("others") and skip < MOST_OTHERS:
            first, skip = found["program"], skip + 1  # what was tried for this program is tried again, and counts once
        else:
            first, skip, spent = found["program"] + 1, 0, found["runs"]


def _seen(request: dict[str, Any], server: Server) -> Any:
    """The calls that the file of the finding shows of its own use; None for none. They are asked for once a file."""
    path = request["finding"]["path"]
    try:
        key = (path, Path(path).read_text(encoding="utf-8"))
        if key not in server.shown:
            server.shown[key] = None
            if shows_its_use(key[1]):
                answer = server.ask({**request, "do": "examples", "memory": request["memory"] or 8 * GIB})
                server.shown[key] = answer.value if answer.ended == "returned" else None
    except (OSError, ValueError, SyntaxError, RecursionError):
        return None
    return server.shown[key]


def _why(answer: Answer, what: str, key: str) -> str:
    if answer.ended == "returned":
        return str(answer.value[key])
    told = answer.detail or (answer.output.strip().splitlines() or [""])[-1]
    return f"{what} {answer.ended}: {told}"


def _reason(verdict: Verdict, rung: Rung, mode: str, runs: int, on_cpu: bool, later: str) -> str:
    tries = "at the first try" if runs == 1 else f"after {runs} tries"
    what = {
        Rung.EXAMPLE: "your own entry",
        Rung.SYNTHESISED: "the flagged code, called with these values,",
        Rung.SLICE: "the flagged statements, with these values for what they read,",
    }[rung]
    if verdict is Verdict.REFUTED:
        return f"{what} came through the flagged expressions with tensors of the accelerator, and nothing went wrong"
    if mode in ALWAYS_SIMULATED:
        return "the flagged statement shows the symptom when it is executed"
    some = rung is Rung.SLICE
    if on_cpu:
        return f"{what} raise{'' if some else 's'} what the finding tells of, where there is no accelerator ({tries})"
    s = "" if some else "s"
    runs_there = f"run{s} where every accelerator is the CPU"
    if later:
        runs_there = f"come{s} through the flagged expressions where every accelerator is the CPU, and fail{s} later"
    found = runs_there if rung is Rung.EXAMPLE else f"{runs_there} ({tries})"
    return f"{what} {found}, and show{s} the symptom where they are accelerators"


def _after(passed: Sequence[int]) -> str:
    if not passed:
        return ""
    lines = ", ".join(map(str, passed))
    return f"; the device errors that come first (line{'s' if len(passed) > 1 else ''} {lines}) were let pass for it"


def finding_of(diagnostic: Diagnostic) -> dict[str, Any]:
    """What the child needs to know of a finding."""
    rule = rules.by_code()[diagnostic.code]
    probe = read(rule.probe) if rule.execution == "exception" and rule.probe is not None else None
    here = diagnostic.filename
    related = [one for one in diagnostic.related if one.filename == here]
    return {
        "path": str(Path(here).absolute()),
        "code": diagnostic.code,
        "at": _sent(diagnostic.span),
        "notes": [_sent(one.span) for one in related],
        "also": [_sent(one.span) for one in related if is_also(one.message)],
        "silent": diagnostic.symptom.startswith("nothing raises"),
        "claims": [] if probe is None else _claims(diagnostic, probe),
        "on_cpu": probe is not None and probe.needs == "cpu",
    }


def is_also(note: str) -> bool:
    """Whether a note names a place that the finding flags like its first one."""
    return note == ALSO or note.endswith(f" {TOO}")


def _sent(span: Span) -> list[int]:
    return [span.row, span.column, span.end_row, span.end_column]


def _claims(diagnostic: Diagnostic, probe: Probe) -> list[tuple[str, str]]:
    """The exceptions that a finding tells of: the one in its symptom, and those that its rule's probe raises."""
    claims = [(name, part) for name, parts in probe.raises for part in parts]
    found = _EXCEPTION.search(diagnostic.symptom)
    return [*claims, *([(found[1], found[2])] if found else [])]
