"""A case: a few lines of plain PyTorch, and what a source says that they do.

A program finds the names ``torch``, ``nn``, ``F``, ``np``, ``io``, ``first`` ("cuda:0"), ``second`` ("cuda:1") and
``seen``, a dict. What it puts in ``seen`` is what is observed; `observe.describe` says how it is written down.
"""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

SAME_DEVICE = "Expected all tensors to be on the same device"


@dataclass(frozen=True, slots=True)
class Expectation:
    """What `source` (a function of PyTorch's sources, a page of its documentation, an issue) says of a program.

    With `raises`, the name of a class that the exception has among its own and its bases, and one of `texts`, a part of
    its message (any will do if there is none). Without, the program ends well, and for each name of `seen` the
    observation is that value; a text also stands for every longer observation that starts with it and a blank.
    """

    source: str
    raises: str = ""
    texts: tuple[str, ...] = ()
    seen: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table.

    `devices` is how many accelerators the program sees, on a machine with more as well: 0 is a machine without. An
    `alone` case runs in a process of its own, since it changes what others would see (default devices, the current
    device, the state of a process, a device that is dead afterwards). `control` names exceptions of the kinds that
    betray a mistake in the program, and that this one rightly raises where there is no accelerator. `since` is the
    first release of PyTorch that has what the program uses; an older one does not run it.
    """

    id: str
    program: str
    devices: int = 1
    alone: bool = False
    expects: Expectation | None = None
    control: tuple[str, ...] = ()
    since: tuple[int, int] = (0, 0)

    @property
    def group(self) -> str:
        return self.id.partition("/")[0]

    @property
    def digest(self) -> str:
        """Of all that a record depends on: a record of another program is none of this one."""
        return hashlib.sha256(f"{self.devices}\n{self.program}".encode()).hexdigest()[:12]


def ok(source: str = "", /, **seen: Any) -> Expectation:
    return Expectation(source, seen=seen)


def raises(name: str, *texts: str, source: str = "") -> Expectation:
    return Expectation(source, raises=name, texts=texts)


def case(
    name: str,
    program: str,
    expects: Expectation | None = None,
    *,
    source: str = "",
    devices: int = 1,
    alone: bool = False,
    control: Iterable[str] = (),
) -> Case:
    """A case; `source` is for an expectation that names none. ``;;`` in a program is a line break."""
    if expects is not None and source:
        expects = replace(expects, source=source)
    text = textwrap.dedent(program.replace(";;", "\n")).strip() + "\n"
    lines = (line.strip() if not line.startswith((" ", "\t")) else line for line in text.splitlines())
    return Case(name, "\n".join(lines) + "\n", devices, alone, expects, tuple(control))


Row = tuple[str, str] | tuple[str, str, Expectation | None]


def rows(group: str, table: Iterable[Row], *, setup: str = "", **options: Any) -> tuple[Case, ...]:
    """Cases ``group/name`` from rows (name, program, expectation), each with the lines of `setup` before it."""
    start = textwrap.dedent(setup.replace(";;", "\n")).strip()
    cases = []
    for name, program, *expects in table:
        body = textwrap.dedent(program.replace(";;", "\n")).strip()
        whole = "\n".join(line if line.startswith(" ") else line.strip() for line in f"{start}\n{body}".splitlines())
        cases.append(case(f"{group}/{name}", whole, expects[0] if expects else None, **options))
    return tuple(cases)
