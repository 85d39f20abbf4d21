"""What an execution may take of the machine."""

from __future__ import annotations

import contextlib
from pathlib import Path


def limit(memory: int | None) -> None:
    """No core dumps, and at most `memory` bytes more of address space than now, where the system has such limits.

    If the whole machine runs out of memory all the same, it is this process that is to go.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    if memory is None:
        return
    with contextlib.suppress(OSError):
        memory += int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    bound = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS has the constant and refuses the limit
        resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
