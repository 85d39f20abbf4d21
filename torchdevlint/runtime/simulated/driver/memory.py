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
_SIZE, _COUNT = 128, 64
_MASK = (1 << 64) - 1
"""Where bytes of blocks and their number begin in a sum, so that no sum of a run flows over into its neighbour."""
BLOCKS: dict[int, int] = {}
_REMEMBERED = 10_000


def block_of(nbytes: int) -> int:
    """What a tensor of `nbytes` takes, as one number that can be added: bytes of its block, blocks, bytes asked for."""
    block = BLOCKS.get(nbytes)
    if block is None:
        block = (((nbytes + 511) & -512) << _SIZE | 1 << _COUNT | nbytes) if nbytes > 0 else 0
        if len(BLOCKS) < _REMEMBERED:
            BLOCKS[nbytes] = block
    return block


class DeviceMemory:
    """What is claimed on one accelerator, in sums of what `block_of` gives.

    `take` and `give` run for every tensor and without a lock: straight code without calls is not interrupted by
    another thread, nor by the garbage collector (CPython looks for those at calls and backward jumps). So they only
    add; what is there now is the difference. Peaks of blocks and of asked bytes are those at the peak of their size.
    `enough` is what can be there without a new peak, and without that more has to be reserved.
    """

    __slots__ = ("enough", "fraction", "given", "peak", "reserved", "reserved_peak", "reset", "taken")

    def __init__(self) -> None:
        self.taken = self.given = self.peak = self.enough = 0
        self.reserved = self.reserved_peak = 0
        self.reset = (0, 0)
        self.fraction = 1.0

    def take(self, nbytes: int) -> None:
        block = block_of(nbytes)
        if block:
            self.taken = taken = self.taken + block
            now = taken - self.given
            if now > self.enough:
                self.grow(now)

    def grow(self, now: int) -> None:
        """As much as `now` is there, which was not enough."""
        self.peak = max(self.peak, now)
        size = now >> _SIZE
        if size > self.reserved:
            self.reserved = (size + _SEGMENT - 1) & -_SEGMENT
            self.reserved_peak = max(self.reserved_peak, self.reserved)
        self.enough = min(self.peak, self.reserved << _SIZE)

    def poison(self) -> None:
        """This is a forked child, which cannot use what it has inherited: from now on nothing is enough."""
        self.__class__ = PoisonedMemory
        self.enough = -1

    def restore(self) -> None:
        """It can be used after all."""
        self.__class__ = DeviceMemory
        self.enough = min(self.peak, self.reserved << _SIZE)

    def give(self, nbytes: int) -> None:
        block = block_of(nbytes)
        self.given += block

    @property
    def allocated(self) -> int:
        """Bytes of the blocks that are claimed now."""
        return (self.taken - self.given) >> _SIZE

    @property
    def free(self) -> int:
        return TOTAL - self.reserved

    def reset_peak(self) -> None:
        self.peak = self.taken - self.given
        self.reserved_peak = self.reserved
        self.enough = min(self.peak, self.reserved << _SIZE)

    def reset_accumulated(self) -> None:
        self.reset = (self.taken, self.given)

    def empty_cache(self) -> None:
        self.reserved = (self.allocated + _SEGMENT - 1) & -_SEGMENT
        self.enough = min(self.peak, self.reserved << _SIZE)

    def _figures(self) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
        """Blocks, their bytes, and the bytes that were asked for."""
        taken, given = self.taken, self.given
        sums = (taken - given, self.peak, taken - self.reset[0], given - self.reset[1])
        size, count, asked = (_figure(*parts) for parts in zip(*map(_parts, sums), strict=True))
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
                "requested_size": _parts(self.taken - self.given)[2],
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

    def grow(self, now: int) -> None:
        raise initialization_error()


def _parts(total: int) -> tuple[int, int, int]:
    """Bytes of blocks, blocks, and bytes asked for."""
    return total >> _SIZE, (total >> _COUNT) & _MASK, total & _MASK


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
