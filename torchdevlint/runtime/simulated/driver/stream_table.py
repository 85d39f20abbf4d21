"""The streams of a device: in which order they were used, and which is current.

Simulated kernels run at once, so every stream has always finished. Each has a position, which grows with each event
that is recorded in it. `StreamTable.waits` has, for each stream, how far other streams were waited for: what a checker
of missing synchronisation needs.

Sources: c10/cuda/CUDAStream.{h,cpp}.
"""

from __future__ import annotations

import threading

Key = tuple[int, int]  # index of the device, id of the stream; id 0 is the default stream

_POOL = 32  # kStreamsPerPool: the 33rd stream of a device and priority is the first one again
PRIORITIES = 4  # max_compile_time_stream_priorities
_EXTERNAL = 1 << 20


class _Thread(threading.local):
    def __init__(self) -> None:
        self.current: dict[int, int] = {}


class StreamTable:
    """The streams of one driver. Which one is current belongs to a thread, as in CUDA."""

    def __init__(self) -> None:
        self.positions: dict[Key, int] = {}
        self.waits: dict[Key, dict[Key, int]] = {}
        self._created: dict[tuple[int, int], int] = {}
        self._external: dict[tuple[int, int], int] = {}
        self._thread = _Thread()
        self._events = 0

    def create(self, index: int, priority: int = 0) -> int:
        """The id of the next stream of a device's pool for this priority (getStreamFromPool)."""
        level = min(max(-priority, 0), PRIORITIES - 1)
        number = self._created.get((index, level), 0)
        self._created[index, level] = number + 1
        return 1 + level + PRIORITIES * (number % _POOL)

    def external(self, index: int, pointer: int) -> int:
        """The id of a stream that another library made."""
        return self._external.setdefault((index, pointer), _EXTERNAL + len(self._external))

    def current(self, index: int) -> int:
        return self._thread.current.get(index, 0)

    def set_current(self, index: int, stream: int) -> None:
        self._thread.current[index] = stream

    def handle(self, index: int, stream: int) -> int:
        """What `cudaStream_t` would be: 0 for a default stream, else some address."""
        if stream >= _EXTERNAL:
            return next(
                pointer for (device, pointer), own in self._external.items() if (device, own) == (index, stream)
            )
        return 0 if stream == 0 else 0x5100_0000_0000 + (index << 24) + (stream << 8)

    def record(self, key: Key) -> int:
        """Note an event in a stream; the stream's position with it."""
        position = self.positions[key] = self.positions.get(key, 0) + 1
        return position

    def wait(self, key: Key, other: Key, position: int) -> None:
        """All that comes in stream `key` comes after `position` of `other`."""
        known = self.waits.setdefault(key, {})
        known[other] = max(position, known.get(other, 0))

    def next_event(self) -> int:
        self._events += 1
        return 0x5200_0000_0000 + (self._events << 8)


def priority_of(stream: int) -> int:
    return 0 if stream == 0 or stream >= _EXTERNAL else -((stream - 1) % PRIORITIES)
