"""What a hunt gives: bugs with their scripts, and what became of everything else. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from torchdevlint.runtime.hunt.targets import Target

BUG, CONTRACT, FOR_CPU, LIMIT, UNREPRODUCED = "bug", "contract", "for the CPU", "limit", "not reproduced"
ALONE = "method alone"
"""What a failure on the accelerator is."""


class Place(Struct, frozen=True, order=True):
    """A line of a file, and the function it is in."""

    filename: str
    line: int
    function: str = ""


class Failure(Struct, frozen=True):
    """A script that runs on the control and not on the accelerator.

    `sort` is one of the words above. `raised` is the innermost line of the project; `operand` says in words which
    operand is at fault, and `origin` where it was made. `why` is the reason for the sort.
    """

    target: Target
    mode: str
    sort: str
    why: str
    script: str
    exception: str = ""
    text: str = ""
    raised: Place | None = None
    operand: str = ""
    origin: Place | None = None
    trace: str = ""
    values: Mapping[str, str] = {}

    @property
    def key(self) -> tuple[Any, ...]:
        """What failures of one bug have in common."""
        if self.raised is None:
            return (self.exception, self.target.name, self.mode, self.origin)
        return (self.exception, self.raised.filename, self.raised.line, self.origin)


class Hunted(Struct, frozen=True):
    """What became of one target: its failures, or why it was not executed (`why`, grouped in the report)."""

    target: Target
    failures: tuple[Failure, ...] = ()
    why: str = ""
    runs: int = 0
    modes: tuple[str, ...] = ()
    """The modes that ran through on the control."""


class Rule(Struct, frozen=True):
    """The linter's own finding at the place of a bug."""

    code: str
    name: str
    filename: str
    line: int


class Bug(Struct, frozen=True):
    """Failures with one cause: the first of them is the one that is shown; `reached` names the other ways to it."""

    failure: Failure
    reached: tuple[tuple[str, str], ...] = ()
    rule: Rule | None = None
    file: str = ""
    """Where the script was written to."""


class Hunt(Struct, frozen=True):
    """All of a hunt."""

    bugs: tuple[Bug, ...] = ()
    targets: tuple[Hunted, ...] = ()
    failed: Mapping[str, str] = {}
    """Modules that could not be imported, and why."""
    torch: str = ""
