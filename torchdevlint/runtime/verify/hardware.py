"""What there is to execute on, and which of it is used."""

from __future__ import annotations

import importlib.util

from torchdevlint.runtime import backends
from torchdevlint.runtime.child import Call, Ended, Limits, run_all
from torchdevlint.runtime.verify.verdict import exception_line

NO_TORCH = 'torch is not installed here: pip install "torchdevlint[verify]"'
SURVEY_SECONDS = 120.0


class UnusableError(Exception):
    """Nothing can be executed here, or not on the device that was asked for; the message is one line for the user."""


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
    """The real device to use for `wanted` (``auto``, ``cpu``, ``simulated``, or such as ``cuda:1``); None for none.

    Raises UnusableError for a device that is not there.
    """
    if wanted == "auto":
        return next((backend.name for backend in machine.accelerators), None)
    if wanted in (backends.CPU, backends.SIMULATED):
        return None
    kind, _, index = wanted.partition(":")
    for backend in machine.accelerators:
        if backend.name == kind and (not index or (index.isdigit() and int(index) < len(backend.devices))):
            return wanted
    there = [f"{backend.name} ({len(backend.devices)})" for backend in machine.accelerators]
    raise UnusableError(f"no device {wanted!r} here; there is: {', '.join(['cpu', *there])}")
