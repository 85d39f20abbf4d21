"""The kinds of accelerators that are known by name. Imports no torch."""

from __future__ import annotations

KINDS = ("cuda", "xpu", "mps")
"""The device types, the one that torch prefers first."""
MOST = 64


def most(kind: str) -> int:
    """How many accelerators of a kind one machine may have here: a Mac has one."""
    return 1 if kind == "mps" else MOST


def refusal(kind: str, count: int) -> str | None:
    """Why no machine has `count` accelerators of `kind`, None if one may."""
    if kind not in KINDS:
        return f"unknown kind of accelerator {kind!r}: one of {', '.join(KINDS)}"
    if not 0 <= count <= most(kind):
        return f"a machine cannot have {count} accelerators of the kind {kind}: 0 to {most(kind)}"
    return None
