"""The programs of this folder, and what each says of itself.

A program is an ordinary script: it says what it shows in its docstring and the rest in comments of its own lines,

    # library: gpytorch         the distribution that it needs beside torch (``libraries/``)
    # rule: TDL003              the rule by which `torchdevlint check` finds the bug of a program in ``broken/``, or
    # rule: none: because ..    why none does
    # accelerators: 2           how many it needs for its bug to show, if not one; 0 is a machine without any
    loss = f(x, y)  # dies here: "a part of the text of the error"

``working/`` and ``libraries/`` run to their end on a CPU and on accelerators alike; what is in ``broken/`` does so on a
CPU only. Each is run as it is: nothing in it knows that accelerators may be simulated.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
GROUPS = ("working", "broken", "libraries")
_DEATH = re.compile(r'# dies here: "(.+)"$')


@dataclass(frozen=True, slots=True)
class Program:
    """One script. `line` and `text` are where it dies on accelerators, and with what; 0 and empty if it does not."""

    path: Path
    title: str
    library: str
    rule: str
    accelerators: int
    line: int
    text: str

    @property
    def group(self) -> str:
        return self.path.parent.name

    @property
    def name(self) -> str:
        return f"{self.group}/{self.path.stem}"


def programs(group: str) -> list[Program]:
    """The programs of a group, by name."""
    return [_read(path) for path in sorted((HERE / group).glob("*.py"))]


def _read(path: Path) -> Program:
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    deaths = [(number, found[1]) for number, line in enumerate(lines, 1) if (found := _DEATH.search(line))]
    if len(deaths) > 1:
        raise ValueError(f"{path} dies more than once")
    line, text = deaths[0] if deaths else (0, "")
    title = (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
    count = _said(lines, "accelerators")
    return Program(
        path,
        title,
        _said(lines, "library"),
        _said(lines, "rule"),
        int(count) if count else (1 if line else 2),
        line,
        text,
    )


def _said(lines: list[str], what: str) -> str:
    start = f"# {what}: "
    return next((line.removeprefix(start).strip() for line in lines if line.startswith(start)), "")
