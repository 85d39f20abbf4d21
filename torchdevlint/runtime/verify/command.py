"""The user's own command, such as ``pytest tests/test_model.py``: run once under the recorder, for all findings."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from torchdevlint import rules
from torchdevlint.model import Diagnostic
from torchdevlint.runtime.backends import SIMULATED
from torchdevlint.runtime.record.sites import Site
from torchdevlint.runtime.start import launch
from torchdevlint.runtime.tell.account import Account, DeviceError
from torchdevlint.runtime.verify.hardware import UnusableError
from torchdevlint.runtime.verify.ladder import Climb, Order
from torchdevlint.runtime.verify.verdict import Evidence, Judgement, Rung, Verdict


def by_command(diagnostics: Sequence[Diagnostic], command: str, order: Order) -> list[Climb]:
    """What running `command` says of each finding. Raises UnusableError if it cannot be started."""
    lines: dict[str, set[int]] = {}
    for diagnostic in diagnostics:
        for path, rows in _rows(diagnostic).items():
            lines.setdefault(path, set()).update(rows)
    real = "" if order.device == SIMULATED else order.device
    try:
        outcome = launch.run(
            launch.Order(
                tuple(shlex.split(command)),
                order.accelerators,
                device=real,
                output_to_stderr=True,
                lines={path: sorted(rows) for path, rows in lines.items()},
            )
        )
    except launch.UsageError as error:
        raise UnusableError(str(error)) from error
    return [_judged(diagnostic, outcome.account, outcome.status, command, order) for diagnostic in diagnostics]


def _judged(diagnostic: Diagnostic, account: Account, status: int, command: str, order: Order) -> Climb:
    backend = order.device.partition(":")[0]
    if rules.by_code()[diagnostic.code].execution != "operation":
        return Climb(None, ((Rung.EXAMPLE, "the command is watched for device errors, which this rule is not about"),))
    rows = _rows(diagnostic)
    for error in (*account.errors, *account.handled):
        if _is_of(error, diagnostic, rows):
            observed = {operand.name: operand.device for operand in error.operands}
            evidence = Evidence(f"{error.exception}: {error.text}", None, observed or None, {"command": command})
            reason = "your own command meets the device error at the flagged lines"
            return Climb(Judgement(Verdict.CONFIRMED, Rung.EXAMPLE, backend, order.torch, reason, "", evidence))
    if not account.processes:
        return Climb(None, ((Rung.EXAMPLE, f"the command imports no torch (exit code {status})"),))
    missed = [row for path, wanted in rows.items() for row in wanted if row not in account.visited.get(path, ())]
    if missed or status:
        why = (
            f"the command does not come to line {missed[0]}" if missed else f"the command ends with exit code {status}"
        )
        return Climb(None, ((Rung.EXAMPLE, why),))
    reason = "your own command came through the flagged lines on the accelerator, and nothing went wrong"
    evidence = Evidence(inputs={"command": command})
    return Climb(Judgement(Verdict.REFUTED, Rung.EXAMPLE, backend, order.torch, reason, "", evidence))


def _is_of(error: DeviceError, diagnostic: Diagnostic, rows: dict[str, set[int]]) -> bool:
    """Whether the error was raised at a flagged line, or one of its operands was made at the one that is reported."""

    def at(site: object, wanted: set[int]) -> bool:
        path = os.path.realpath(diagnostic.filename)
        return isinstance(site, Site) and os.path.realpath(site.filename) == path and site.line in wanted

    every = rows[os.path.realpath(diagnostic.filename)]
    reported = set(range(diagnostic.span.row, diagnostic.span.end_row + 1))
    return at(error.site, every) or any(at(operand.created, reported) for operand in error.operands)


def _rows(diagnostic: Diagnostic) -> dict[str, set[int]]:
    """The first rows of what the finding speaks of in its own file."""
    spans = [diagnostic.span, *(one.span for one in diagnostic.related if one.filename == diagnostic.filename)]
    return {os.path.realpath(diagnostic.filename): {span.row for span in spans}}
