"""What fixing comes to: a change of each file, and what is left."""

from __future__ import annotations

from collections import Counter
from io import StringIO

from msgspec import Struct

from torchdevlint.model import FileResult, Run
from torchdevlint.source.text import decode


class Change(Struct, frozen=True):
    """What fixing did to one file."""

    filename: str
    old: bytes
    new: bytes
    applied: Counter[str]

    def diff(self) -> str:
        """A unified diff, as ``git apply`` and ``patch`` read it."""
        from difflib import unified_diff

        old, new = (list(StringIO(decode(each), newline="\n")) for each in (self.old, self.new))
        lines = unified_diff(old, new, self.filename, self.filename)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


class Fixes(Struct, frozen=True):
    """What fixing did in a run, and what is left to report: of files with changes, as they are after them."""

    run: Run
    changes: tuple[Change, ...] = ()

    @property
    def applied(self) -> Counter[str]:
        """How many findings of each rule were fixed."""
        return sum((change.applied for change in self.changes), Counter[str]())

    def gone(self, before: Run) -> tuple[FileResult, ...]:
        """The results of the files with changes, as a run found them before."""
        changed = {change.filename for change in self.changes}
        return tuple(each for each in before.results if each.filename in changed)
