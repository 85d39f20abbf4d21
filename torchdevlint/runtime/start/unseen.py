"""Processes of a program that have loaded torch and did not say that they are recorded: nothing is known of them.

The variables of `inherit` do not reach a Python that ignores its environment, or a program that was started without
them. Whoever runs the program looks from time to time at the processes that come from it; that torch is loaded is told
by the libraries that a process has mapped. On Linux only, where the kernel says so under ``/proc``.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from torchdevlint.runtime.start.inherit import BOOTSTRAP, HERE, PATH, RECORD
from torchdevlint.runtime.tell.account import Hidden

BETWEEN = 0.2
"""Seconds between two looks. Torch takes longer to be imported once its library is mapped."""
LIBRARY = b"/libtorch_cpu."
PROC = Path("/proc")
_PYTHON = re.compile(r"(python|pypy)[\d.]*$")
_WITH_VALUE = "WXcmQ"
_IGNORING = {
    "I": "-I makes Python ignore the environment, by which it would be checked",
    "E": "-E makes Python ignore the environment, by which it would be checked",
    "S": "-S keeps Python from loading the start-up file by which it would be checked",
}


class Watch:
    """Looks at the processes that come from one, whose records go to `folder`."""

    def __init__(self, process: int, folder: Path) -> None:
        self.folder = folder
        self.parents: dict[int, int] = {process: 0}
        self.ours = {process}
        self.found: dict[int, Hidden] = {}
        self.looked = 0.0

    def look(self) -> None:
        """Look, unless that was done a moment ago."""
        now = time.monotonic()
        if now - self.looked < BETWEEN:
            return
        self.looked = now
        there = self._processes()
        for number in sorted(self.ours & there):
            if number not in self.found and not self._announced(number) and _has_torch(number):
                self._note(number)

    def hidden(self) -> tuple[Hidden, ...]:
        """Those that have not said so until now: a process may have been seen as it began."""
        found = [one for number, one in sorted(self.found.items()) if not self._announced(number)]
        return tuple(dict.fromkeys(found))

    def _processes(self) -> set[int]:
        """All that there are. Whose children they are is asked once: when a parent ends, they get another one."""
        try:
            there = {int(path.name) for path in PROC.iterdir() if path.name.isdigit()}
        except OSError:
            return set()
        new = sorted(there - self.parents.keys())
        self.parents.update((number, _parent(number)) for number in new)
        while reached := [one for one in new if one not in self.ours and self.parents[one] in self.ours]:
            self.ours.update(reached)
        return there

    def _note(self, number: int) -> None:
        parent, command = self.parents[number], _words(number, "cmdline")
        same = parent in self.ours and _words(parent, "cmdline") == command
        if command and not same:  # else it is a fork of its parent, perhaps on its way to another program
            self.found[number] = Hidden(command, reason(command, _environment(number)))

    def _announced(self, number: int) -> bool:
        return (self.folder / f"{number}{HERE}").exists()


def reason(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Why a process with this command line and this environment is not checked, for the user."""
    if not _PYTHON.search(Path(command[0]).name):
        return "it is no Python, in which the simulation could begin"
    ignoring = next((_IGNORING[flag] for flag in _flags(command[1:]) if flag in _IGNORING), None)
    if ignoring is not None:
        return ignoring
    if RECORD not in environment:
        return f"it was started with an environment of its own, without {RECORD}"
    if str(BOOTSTRAP) not in environment.get(PATH, "").split(os.pathsep):
        return f"it was started with a {PATH} of its own"
    return "its Python does not load our start-up file: another `sitecustomize` comes before it, or it failed"


def _flags(arguments: Sequence[str]) -> str:
    """The letters of the interpreter's own options, which end before the program."""
    flags = ""
    skip = False
    for argument in arguments:
        if skip:
            skip = False
            continue
        if not argument.startswith("-") or argument in ("-", "--"):
            break
        letters = argument[1:] if not argument.startswith("--") else ""
        value = next((place for place, letter in enumerate(letters) if letter in _WITH_VALUE), None)
        flags += letters if value is None else letters[:value]
        if value is not None and letters[value] in "cm":
            break
        skip = value == len(letters) - 1
    return flags


def _has_torch(number: int) -> bool:
    return LIBRARY in _read(number, "maps")


def _parent(number: int) -> int:
    """The number of the parent, which follows the name in parentheses and the state; 0 if the process is gone."""
    fields = _read(number, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _words(number: int, name: str) -> tuple[str, ...]:
    data = _read(number, name)
    return tuple(os.fsdecode(word) for word in data.rstrip(b"\0").split(b"\0")) if data else ()


def _environment(number: int) -> dict[str, str]:
    return {name: value for name, _, value in (word.partition("=") for word in _words(number, "environ"))}


def _read(number: int, name: str) -> bytes:
    try:
        return (PROC / str(number) / name).read_bytes()
    except OSError:
        return b""
