"""Which releases of torch a place is for, as a test around it or the configuration says."""

from __future__ import annotations

import re

from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.patterns import regex

_FOR_RELEASES = regex(r"version|hasattr|torch_?(?:ge|lt|gt|le|\d)|[a-z]_ge_|\bTORCH", re.IGNORECASE)
"""Tests that ask which release of torch is there."""


def is_for_older(frame: Frame, state: State, since: tuple[int, int]) -> bool:
    """Whether the project, or a test around the place, is for releases before `since`."""
    target = re.match(r"(\d+)\.(\d+)", frame.machine.settings.target_torch or "")
    if target is not None and (int(target[1]), int(target[2])) < since:
        return True
    return any(_FOR_RELEASES.search(key) for key, _ in state.conditions)
