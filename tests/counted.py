"""Work as a number of calls, which unlike the time depends on nothing else that the machine does."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls_of(action: Callable[[], object]) -> int:
    """How many functions `action` calls."""
    count = 0

    def profile(*_: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count
