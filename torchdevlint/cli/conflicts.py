"""Which flags of `check` exclude each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchdevlint.cli.refused import Misused

EXCLUSIVE = {
    "baseline": ("write_baseline",),
    "fix": ("write_baseline",),
    "fix_only": ("write_baseline",),
    "diff": ("write_baseline",),
    "add_noqa": ("fix", "fix_only", "diff", "write_baseline"),
    "watch": ("diff", "write_baseline", "add_noqa", "show_files", "show_settings"),
}
"""What a flag cannot be combined with: each of them says what is to be done with the findings."""


def refuse_what_excludes_each_other(paths: Sequence[str], flags: dict[str, Any]) -> None:
    """Raises Misused."""
    stdin = "-" in paths
    if stdin and len(paths) > 1:
        raise Misused("`-` cannot be combined with other paths")
    if flags["stdin_filename"] and not stdin:
        raise Misused("--stdin-filename needs `-` as the path")
    for flag, others in EXCLUSIVE.items():
        other = next((each for each in others if flags[flag] and flags[each]), None)
        if other is not None:
            raise Misused(f"{_written(flag)} cannot be combined with {_written(other)}")
    for flag in ("add_noqa", "watch"):
        if stdin and flags[flag]:
            raise Misused(f"{_written(flag)} needs files, and `-` is none")


def _written(flag: str) -> str:
    return "--" + flag.replace("_", "-")
