"""The memory of a simulated accelerator: the bytes that are claimed on it, counted as CUDA's caching allocator would.

Nothing runs out of memory here. Blocks are rounded up to 512 bytes; what is reserved grows by 2 MiB and shrinks with
`empty_cache` (c10/cuda/CUDACachingAllocator.cpp: kMinBlockSize, kSmallBuffer). The real one has a pool for blocks of
up to 1 MiB (here all are in the large one), reserves more for large blocks and splits blocks: not modelled.
"""

from __future__ import annotations

from typing import Any

from torchdevlint.runtime.simulated.errors import initialization_error

TOTAL = 40 * 1024**3
_SEGMENT = 2 * 1024**2


class DeviceMemory:
    """What is claimed on one accelerator.

    `take` and `give` run for every tensor and without a lock: straight code without calls is not interrupted by
    another thread, nor by the garbage collector (CPython looks for those at calls and backward jumps). So they only
    add; what is there now is the difference. Peaks of blocks and of asked bytes are those at the peak of their size.
    """

    __slots__ = (
        "asked_given",
        "asked_peak",
        "asked_taken",
        "count_given",
        "count_peak",
        "count_taken",
        "fraction",
        "reserved",
        "reserved_peak",
        "reset",
        "size_given",
        "size_peak",
        "size_taken",
    )

    def __init__(self) -> None:
        self.count_taken = self.count_given = self.count_peak = 0
        self.size_taken = self.size_given = self.size_peak = 0
        self.asked_taken = self.asked_given = self.asked_peak = 0
        self.reserved = self.reserved_peak = 0
        self.reset = (0, 0, 0, 0, 0, 0)
        self.fraction = 1.0

    def take(self, nbytes: int) -> None:
        if nbytes > 0:
            self.count_taken += 1
            self.asked_taken += nbytes
            self.size_taken = taken = self.size_taken + ((nbytes + 511) & -512)
            size = taken - self.size_given
            if size > self.size_peak:
                self.size_peak = size
                self.count_peak = self.count_taken - self.count_given
                self.asked_peak = self.asked_taken - self.asked_given
            if size > self.reserved:
                self.reserved = (size + _SEGMENT - 1) & -_SEGMENT
                if self.reserved > self.reserved_peak:
                    self.reserved_peak = self.reserved

    def give(self, nbytes: int) -> None:
        if nbytes > 0:
            self.count_given += 1
            self.asked_given += nbytes
            self.size_given += (nbytes + 511) & -512

    @property
    def allocated(self) -> int:
        """Bytes of the blocks that are claimed now."""
        return self.size_taken - self.size_given

    @property
    def free(self) -> int:
        return TOTAL - self.reserved

    def reset_peak(self) -> None:
        self.count_peak = self.count_taken - self.count_given
        self.size_peak = self.size_taken - self.size_given
        self.asked_peak = self.asked_taken - self.asked_given
        self.reserved_peak = self.reserved

    def reset_accumulated(self) -> None:
        taken = (self.count_taken, self.size_taken, self.asked_taken)
        self.reset = (*taken, self.count_given, self.size_given, self.asked_given)

    def empty_cache(self) -> None:
        self.reserved = (self.allocated + _SEGMENT - 1) & -_SEGMENT

    def _figures(self) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        """Blocks, their bytes, and the bytes that were asked for."""
        taken = (self.count_taken, self.size_taken, self.asked_taken)
        given = (self.count_given, self.size_given, self.asked_given)
        peaks = (self.count_peak, self.size_peak, self.asked_peak)
        count, size, asked = (
            _figure(taken[i] - given[i], peaks[i], taken[i] - self.reset[i], given[i] - self.reset[i + 3])
            for i in range(3)
        )
        return count, size, asked

    def stats(self) -> dict[str, Any]:
        """The nested dictionary of torch/csrc/cuda/Module.cpp: THCPModule_memoryStats."""
        nothing = {pool: _figure(0, 0, 0, 0) for pool in ("all", "small_pool", "large_pool")}
        count, size, asked = ({**nothing, "all": figure, "large_pool": figure} for figure in self._figures())
        segments = _figure(self.reserved // _SEGMENT, self.reserved_peak // _SEGMENT, self.reserved // _SEGMENT, 0)
        reserved = _figure(self.reserved, self.reserved_peak, self.reserved_peak, self.reserved_peak - self.reserved)
        return {
            "num_alloc_retries": 0,
            "num_ooms": 0,
            "max_split_size": -1,
            "num_sync_all_streams": 0,
            "num_device_alloc": self.reserved // _SEGMENT,
            "num_device_free": 0,
            "allocation": count,
            "segment": {**nothing, "all": segments, "large_pool": segments},
            "active": count,
            "inactive_split": nothing,
            "allocated_bytes": size,
            "reserved_bytes": {**nothing, "all": reserved, "large_pool": reserved},
            "active_bytes": size,
            "inactive_split_bytes": nothing,
            "requested_bytes": asked,
            "oversize_allocations": _figure(0, 0, 0, 0),
            "oversize_segments": _figure(0, 0, 0, 0),
        }

    def segments(self, index: int) -> list[dict[str, Any]]:
        """One segment for all that is reserved: where blocks lie is not modelled."""
        if not self.reserved:
            return []
        return [
            {
                "device": index,
                "address": 0,
                "total_size": self.reserved,
                "allocated_size": self.allocated,
                "active_size": self.allocated,
                "requested_size": self.asked_taken - self.asked_given,
                "stream": 0,
                "segment_type": "large",
                "segment_pool_id": (0, 0),
                "is_expandable": False,
                "frames": [],
                "blocks": [],
            }
        ]


class PoisonedMemory(DeviceMemory):
    """Of an accelerator that a forked child has inherited, and cannot use."""

    __slots__ = ()

    def take(self, nbytes: int) -> None:
        raise initialization_error()

    def give(self, nbytes: int) -> None:
        """What the parent had claimed is not this process's."""


def host_stats() -> dict[str, Any]:
    """Of pinned host memory (THCPModule_hostMemoryStats): it is not counted."""
    nothing = _figure(0, 0, 0, 0)
    times = {"total": 0, "max": 0, "min": 0, "count": 0, "avg": 0}
    return {
        "num_host_alloc": 0,
        "num_host_free": 0,
        "allocations": nothing,
        "allocated_bytes": nothing,
        "active_requests": nothing,
        "active_bytes": nothing,
        "host_alloc_time": times,
        "host_free_time": times,
    }


def _figure(current: int, peak: int, allocated: int, freed: int) -> dict[str, int]:
    return {"current": current, "peak": peak, "allocated": allocated, "freed": freed}
