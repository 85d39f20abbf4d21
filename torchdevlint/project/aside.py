"""Files that no Python has to read: they have no word of torch, or were left by a tool, and nothing imports them."""

from __future__ import annotations

import os

from torchdevlint.project.tree import importers

_LEFT_BY_TOOLS = ("tempCodeRunnerFile.py",)
"""What "Code Runner" of an editor leaves of a selection that it ran."""


def is_aside(filename: str, data: bytes) -> bool:
    """Whether a file that cannot be parsed hurts no use of torch: nothing of its project imports it."""
    path = os.path.abspath(filename)
    if os.path.basename(path) in _LEFT_BY_TOOLS:
        return True
    return b"torch" not in data and path.endswith(".py") and os.path.isfile(path) and importers(path) == ()
