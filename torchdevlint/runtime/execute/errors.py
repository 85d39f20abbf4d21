"""What keeps a program from being run, and what an exception of the user's says."""

from __future__ import annotations

from torchdevlint.runtime.record.elsewhere import elsewhere

LONGEST = 6_000


class CannotBeginError(Exception):
    """There is nothing to run; the message says why, and what would help."""


def text_of(error: BaseException) -> str:
    """Its text, cut; an exception whose text cannot be had has none."""
    try:
        return str(error)[:LONGEST]
    except Exception:  # noqa: BLE001 (the user's own `__str__`)
        return ""


def told(error: BaseException, longest: int = 200) -> str:
    """Its class and its text, as Python prints them; of one that a replica or a worker has sent, those of the first."""
    text = text_of(error)
    first = elsewhere(text)
    if first is not None:
        return f"{first.exception}: {first.text[:longest]} (in {first.where})"
    return f"{type(error).__name__}: {text[:longest]}"
