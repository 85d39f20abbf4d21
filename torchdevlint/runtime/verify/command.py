"""The user's own command, such as ``pytest tests/test_model.py``: run once under the recorder, for all findings."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from torchdevlint import rules
from torchdevlint.model import Diagnostic
from torchdevlint.runtime.backends import SIMULATED
from torchdevlint.runtime.execute.instrument import bits_of
from torchdevlint.runtime.execute.target import Region
from torchdevlint.runtime.record.sites import Site
from torchdevlint.runtime.start import launch
from torchdevlint.runtime.tell.account import Account, DeviceError
from torchdevlint.runtime.verify.hardware import UnusableError
from torchdevlint.runtime.verify.ladder import Climb, Order, finding_of, is_also
from torchdevlint.runtime.verify.verdict import Evidence, Judgement, Rung, Verdict

OBSERVER = "torchdevlint.runtime.execute.commanded"


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
                observer=OBSERVER,
                observed=[finding_of(each) for each in diagnostics],
            )
        )
    except launch.UsageError as error:
        raise UnusableError(str(error)) from error
    bits = bits_of([finding_of(each) for each in diagnostics])
    judge = partial(_judged, account=outcome.account, status=outcome.status, command=command, order=order)
    return [judge(one, number, bits[number]) for number, one in enumerate(diagnostics)]


def _judged(
    diagnostic: Diagnostic, number: int, bits: int, account: Account, status: int, command: str, order: Order
) -> Climb:
    backend = order.device.partition(":")[0]
    if rules.by_code()[diagnostic.code].execution != "operation":
        return Climb(None, ((Rung.EXAMPLE, "the command is watched for device errors, which this rule is not about"),))
    rows = _rows(diagnostic)
    for error in (*account.errors, *account.handled):
        if _is_of(error, diagnostic, bits):
            observed = {operand.variable or operand.name: operand.device for operand in error.operands}
            evidence = Evidence(f"{error.exception}: {error.text}", None, observed or None, {"command": command})
            reason = (
                "your own command meets the device error, and the operand that is out of place is that of the finding"
            )
            return Climb(Judgement(Verdict.CONFIRMED, Rung.EXAMPLE, backend, order.torch, reason, "", evidence))
    if not account.processes:
        return Climb(None, ((Rung.EXAMPLE, f"the command imports no torch (exit code {status})"),))
    missed = [row for path, wanted in rows.items() for row in wanted if row not in account.visited.get(path, ())]
    if missed or status:
        why = (
            f"the command does not come to line {missed[0]}" if missed else f"the command ends with exit code {status}"
        )
        return Climb(None, ((Rung.EXAMPLE, why),))
    seen = account.visited.get(os.path.realpath(diagnostic.filename), frozenset())
    if -1 - number not in seen:
        return Climb(None, ((Rung.EXAMPLE, "the command does not bring the finding's operands together there"),))
    reason = "your own command came through the flagged expressions with tensors of the accelerator, without an error"
    evidence = Evidence(inputs={"command": command})
    return Climb(Judgement(Verdict.REFUTED, Rung.EXAMPLE, backend, order.torch, reason, "", evidence))


def _is_of(error: DeviceError, diagnostic: Diagnostic, bits: int) -> bool:
    """Whether an operand that is out of place comes from a flagged expression, or was given to one.

    Without marks, in a file that was run and not imported, it is told by the expression that made it, or that failed.
    """
    elsewhere = [operand for operand in error.operands if operand.device == "cpu"] or error.operands
    if any(operand.marks & bits for operand in elsewhere):
        return True
    path = os.path.realpath(diagnostic.filename)
    spans = [diagnostic.span, *(one.span for one in diagnostic.related if is_also(one.message))]
    regions = [Region(one.row, one.column, one.end_row, one.end_column) for one in spans]

    def at(site: object) -> bool:
        ours = isinstance(site, Site) and os.path.realpath(site.filename) == path
        return ours and any(region.has(asdict(site)) for region in regions)  # type: ignore[call-overload]

    return any(at(operand.created) or at(operand.lost) for operand in elsewhere) or _is_exactly(
        error.site, path, regions
    )


def _is_exactly(site: Site | None, path: str, regions: Sequence[Region]) -> bool:
    """Whether it is the flagged expression itself that failed: the operands of the error are then its own."""
    if site is None or os.path.realpath(site.filename) != path or not site.end_line:
        return False
    place = (site.line, site.column + 1, site.end_line, site.end_column + 1)
    return any(place == (one.row, one.column, one.end_row, one.end_column) for one in regions)


def _rows(diagnostic: Diagnostic) -> dict[str, set[int]]:
    """The first rows of what the finding speaks of in its own file."""
    spans = [diagnostic.span, *(one.span for one in diagnostic.related if one.filename == diagnostic.filename)]
    return {os.path.realpath(diagnostic.filename): {span.row for span in spans}}
