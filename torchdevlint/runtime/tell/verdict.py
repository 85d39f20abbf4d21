"""The last line of a report: what the account of a program comes to."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

from torchdevlint.report.summary import count, enumerate_words
from torchdevlint.runtime.tell.account import Account

CLEAN = "No device error."
LARGEST_CODE = 128
"""Above it, an exit code tells a signal, as in a shell."""


def verdict(account: Account, ended: str) -> str:
    """One line on a program, with the `ending` that it had. `CLEAN` only where all was checked to its end."""
    if account.failures:
        return " ".join(account.failures)
    if not account.processes:
        return "Nothing was checked."
    found = list(_found(account))
    doubts = enumerate_words(list(_doubts(account, ended)))
    if not found and not doubts:
        return CLEAN
    if not found:
        return f"No device error was seen, but {doubts}."
    return f"Found {enumerate_words(found)}{'; ' if doubts else ''}{doubts}."


def _found(account: Account) -> Iterator[str]:
    if account.errors:
        yield count(len(account.errors), "device error", "device errors")
    if account.handled:
        number = sum(one.count for one in account.handled)
        yield count(number, "device error that the program handled", "device errors that the program handled")
    if account.stragglers:
        yield count(len(account.stragglers), "tensor left behind", "tensors left behind")


def _doubts(account: Account, ended: str) -> Iterator[str]:
    """What keeps an account without an error from meaning that there is none."""
    if ended:
        yield f"the program {ended}"
    if account.idle and account.accelerators and not account.errors:
        yield "nothing was ever on an accelerator"
    if account.hidden:
        yield f"{count(len(account.hidden), 'process was', 'processes were')} not checked"
    if account.lost:
        yield f"{count(account.lost, 'process', 'processes')} ended without a full record"
    if account.limitations:
        yield f"{count(len(account.limitations), 'thing', 'things')} could not be simulated"


def ending(account: Account, status: int, after: float | None = None) -> str:
    """How a program ended, as the rest of a sentence about it: after so many seconds, or with `status`.

    Empty if that needs no words: with 0, or since an error of the account ended it.
    """
    if after is not None:
        return f"was ended after {after:g} s"
    if account.errors:
        return ""
    if status > LARGEST_CODE:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(status - LARGEST_CODE).name}"
    return f"ended with exit code {status}" if status else ""
