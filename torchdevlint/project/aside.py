"""Files that no Python has to read: they have no word of torch, or were left by a tool, and nothing imports them."""

from __future__ import annotations

import os

from torchdevlint.project.locate import root_of
from torchdevlint.project.modules import HELD
from torchdevlint.project.packaging import is_shown
from torchdevlint.project.tree import importers, saying
from torchdevlint.project.uses import around

_LEFT_BY_TOOLS = ("tempCodeRunnerFile.py",)
"""What "Code Runner" of an editor leaves of a selection that it ran."""
_FEWEST_OTHERS = 4
"""With fewer other files, or without something to read about it, the project may not be there as a whole."""


def is_aside(filename: str, data: bytes) -> bool:
    """Whether a file that cannot be parsed hurts no use of torch: nothing of its project imports it."""
    path = os.path.abspath(filename)
    if os.path.basename(path) in _LEFT_BY_TOOLS:
        return True
    if b"torch" in data or not path.endswith(".py") or not os.path.isfile(path):
        return False
    if len(saying(path, ()) or ()) < _FEWEST_OTHERS or importers(path) != ():
        return False
    project = around(filename, HELD.library)
    return project is not None and is_shown(project, root_of(os.path.dirname(path)))
