"""Executes what was flagged and gives every finding its verdict.

A finding climbs down the `ladder`: the user's own entry, the flagged function called with values that were searched
for, a slice of it. Each of them is executed twice, where every accelerator is the CPU and on an accelerator, in
processes that `server` starts. What none of them can say something of falls to the rule's own program (`probes`), which
shows that the rule's claim is true here, and nothing of the finding.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from queue import LifoQueue

from torchdevlint.model import Diagnostic
from torchdevlint.runtime import backends
from torchdevlint.runtime.verify.command import by_command
from torchdevlint.runtime.verify.forked import ForkServer
from torchdevlint.runtime.verify.hardware import UnusableError, accelerator, require_torch, survey
from torchdevlint.runtime.verify.ladder import Climb, Order, climb
from torchdevlint.runtime.verify.probes import NO_PROBE, probed
from torchdevlint.runtime.verify.reasons import why
from torchdevlint.runtime.verify.server import Server
from torchdevlint.runtime.verify.verdict import Judgement, Rung, Verdict, Verified

__all__ = ["Order", "UnusableError", "accelerator", "require_torch", "survey", "verify"]


def verify(
    diagnostics: Sequence[Diagnostic],
    machine: backends.Machine,
    order: Order,
    asked: str = "auto",
    jobs: int | None = None,
    done: Callable[[], None] = lambda: None,
    command: str | None = None,
) -> list[Verified]:
    """Every finding with its judgement, in the order given. `done` is called after each one.

    A `command` of the user's is run first; what it says nothing of is executed finding by finding.
    """
    if not diagnostics:
        return []
    codes = {diagnostic.code for diagnostic in diagnostics}
    entered = by_command(diagnostics, command, order) if command else [Climb(None)] * len(diagnostics)
    rest = [diagnostic for diagnostic, one in zip(diagnostics, entered, strict=True) if one.judgement is None]
    at_once = min(jobs or min(4, os.cpu_count() or 1), len(diagnostics))
    idle: LifoQueue[Server] = LifoQueue()  # one that has been started is taken again before another is
    with ExitStack() as stack:
        above = stack.enter_context(ForkServer())
        pool = stack.enter_context(ThreadPoolExecutor(at_once))
        for _ in range(at_once):
            idle.put(stack.enter_context(Server(above=above)))
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)

        def work(diagnostic: Diagnostic) -> Climb:
            server = idle.get()
            try:
                return climb(diagnostic, order, server)
            finally:
                idle.put(server)
                done()

        climbed = pool.map(work, rest)
        climbs = [one if one.judgement is not None else _after(one, next(climbed)) for one in entered]
        low = {diagnostic.code for diagnostic, one in zip(diagnostics, climbs, strict=True) if one.judgement is None}
        shown = probed(codes & low, machine, idle.get(), accelerator(machine, asked), asked, order.limits)
    return [
        Verified(diagnostic, one.judgement or _by_probe(one, shown[diagnostic.code]))
        for diagnostic, one in zip(diagnostics, climbs, strict=True)
    ]


def _after(one: Climb, other: Climb) -> Climb:
    return Climb(other.judgement, (*one.reasons, *other.reasons))


def _by_probe(climbed: Climb, judgement: Judgement) -> Judgement:
    """What is left where the finding could not be executed: why, and the rule's claim, which is no more than that."""
    if not climbed.reasons and judgement.reason == NO_PROBE:
        return judgement
    texts = [reason for _, reason in climbed.reasons]
    reason = why(texts).text if texts else judgement.reason
    reasons = (*climbed.reasons, (Rung.PROBE, judgement.reason))
    given = (judgement.backend, judgement.torch, reason, judgement.claim, judgement.evidence, reasons)
    return Judgement(Verdict.INCONCLUSIVE, Rung.PROBE, *given)
