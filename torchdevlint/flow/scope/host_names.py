"""Names of functions that may bring a tensor to the CPU, or make one there."""

from __future__ import annotations

import re
from functools import lru_cache

from torchdevlint.patterns import regex

_LEAVES_DEVICE = regex(
    r"cpu|numpy|(?:^|[._])np(?:$|[._])|list|ind(?:ex|ices)|idx|match|assign|len|mask|pos|sampl|nms|item|host",
    re.IGNORECASE,
)


@lru_cache(maxsize=8192)
def may_leave_device(name: str) -> bool:
    """Whether a function with that name may give what is on the CPU for what is elsewhere."""
    return _LEAVES_DEVICE.search(name) is not None
