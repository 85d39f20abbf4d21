"""How many processes work on files is worth."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

SMALL_FILES, SMALL_BYTES = 8, 400_000
"""Below either of these one process is done before a second one has started."""


def automatic_jobs(files: Sequence[str]) -> int:
    """One for little work, else the number of CPUs that this process may use."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cpus == 1 or len(files) < SMALL_FILES:
        return 1
    total = 0
    for file in files:
        try:
            total += Path(file).stat().st_size
        except OSError:
            continue
        if total >= SMALL_BYTES:
            return cpus
    return 1
