"""How often Python looks for cycles in its objects."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = 4_000_000, 20, 20
"""So many more objects than before are made until they are looked through: about as many as the trees that are held."""

_SEEN_FREED = 31 << 20

_FULL_AT = 100
"""So many collections of younger objects come before one of all objects."""


@contextmanager
def few_collections() -> Iterator[None]:
    """For the time of an analysis, whose trees and values are reachable all the time.

    With the thresholds of Python, looking for cycles in them takes half as long as the analysis or longer.
    """
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def keep_freed_memory() -> None:
    """From now on, hold what one file leaves of memory for the next one, where the C library is that of GNU.

    It takes the largest piece that it sees freed for a measure of how much comes and goes, and gives the system back no
    less than twice that at a time. From 128 kilobytes, with which it begins, up to a quarter of all page faults is for
    memory that was given back just before. From more than 32 megabytes it learns nothing. The piece is never touched.
    """
    bytes(_SEEN_FREED)


def few_full_collections() -> None:
    """From now on, for a process that goes on to hold what was parsed, while others make their objects.

    Theirs are looked through as often as before; those that are held, a tenth as often, and not when the process ends.
    """
    atexit.register(gc.freeze)
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, max(old, _FULL_AT) if old else old)
