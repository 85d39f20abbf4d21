"""Streams and events that run nothing, but remember the order in which they were used.

Simulated kernels run at once, so every stream has always finished. Each has a position, which grows with each event
that is recorded in it; an event remembers stream, position and time. `StreamTable.waits` has, for each stream, how far
other streams were waited for: what a checker of missing synchronisation needs.

Sources: torch/csrc/{Stream,Event}.cpp, c10/cuda/CUDAStream.{h,cpp},
c10/cuda/CUDAEvent.h, c10/core/impl/InlineEvent.h.
"""

from __future__ import annotations

import threading
import time
from abc import ABCMeta
from typing import TYPE_CHECKING, Any

import torch

from torchdevlint.runtime.simulated.errors import NotSimulated, header_says

if TYPE_CHECKING:
    from torchdevlint.runtime.simulated.driver.driver import Driver

Key = tuple[int, int]  # index of the device, id of the stream; id 0 is the default stream

_POOL = 32  # kStreamsPerPool: the 33rd stream of a device and priority is the first one again
PRIORITIES = 4  # max_compile_time_stream_priorities
_EXTERNAL = 1 << 20
_RealStream: Any = torch.Stream
_RealEvent: Any = torch.Event


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


class _IncludesReal(ABCMeta):  # torch 2.4 has abstract base classes above its streams
    """`isinstance` with a simulated class accepts what the real one accepts: objects made for the CPU, or before."""

    def __instancecheck__(cls, instance: object) -> bool:
        real = cls.__dict__.get("_real")
        return type.__instancecheck__(cls, instance) or (real is not None and isinstance(instance, real))


class SimulatedStream(torch.Stream, metaclass=_IncludesReal):  # type: ignore[misc]
    """`torch.Stream`, also of the simulated kind; for other devices it makes the real ones."""

    _driver: Driver

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if "stream_id" in kwargs or len(args) > 1:  # one that exists already
            return _RealStream.__new__(cls, *args, **kwargs)
        driver = cls._driver
        device = driver.parse(args[0] if args else kwargs.get("device"))
        if device.type != driver.kind:
            return _RealStream(*args, **kwargs)
        index = driver.resolve(device).index
        return cls._make(driver.streams.create(index, kwargs.get("priority", 0)), index)

    @classmethod
    def _make(cls, stream: int, index: int) -> Any:
        number = device_type_number(cls._driver.kind)
        return _RealStream.__new__(cls, stream_id=stream, device_index=index, device_type=number)

    @property
    def _key(self) -> Key:
        return self.device_index, self.stream_id

    @property
    def native_handle(self) -> int:
        return self._driver.streams.handle(*self._key)

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        return None

    def is_capturing(self) -> bool:
        return False

    def wait_event(self, event: Any) -> None:
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        table = self._driver.streams
        key = (stream.device_index, stream.stream_id)
        table.wait(self._key, key, table.record(key))

    def record_event(self, event: Any = None) -> Any:
        event = torch.Event(self.device) if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Any:
        driver = self._driver
        before = driver.current
        driver.set_current(self.device_index)
        self.__dict__.setdefault("_entered", []).append((before, driver.streams.current(self.device_index)))
        driver.streams.set_current(*self._key)
        return self

    def __exit__(self, *exc_info: object) -> None:
        device, stream = self.__dict__["_entered"].pop()
        self._driver.streams.set_current(self.device_index, stream)
        self._driver.set_current(device)


class SimulatedEvent(torch.Event, metaclass=_IncludesReal):  # type: ignore[misc]
    """`torch.Event`, also of the simulated kind; for other devices it makes the real ones."""

    _driver: Driver
    _timing: bool
    _recorded: tuple[Key, int, float] | None
    _handle: int

    def __new__(cls, device: Any = None, **kwargs: Any) -> Any:
        if cls._driver.parse(device).type != cls._driver.kind:
            return _RealEvent(device, **kwargs)
        return cls._make(kwargs.get("enable_timing", False))

    @classmethod
    def _make(cls, timing: bool) -> Any:
        self = _RealEvent.__new__(cls)
        self._timing, self._recorded, self._handle = bool(timing), None, 0
        return self

    @property
    def device(self) -> Any:
        kind = self._driver.kind
        return torch.device(kind) if self._recorded is None else torch.device(kind, self._recorded[0][0])

    @property
    def event_id(self) -> int:
        return self._handle

    def record(self, stream: Any = None) -> None:
        key = self._key_of(stream)
        table = self._driver.streams
        if self._recorded is None:
            self._handle = table.next_event()
        elif self._recorded[0][0] != key[0]:
            raise RuntimeError(
                f"Event device {self._recorded[0][0]} does not match recording stream's device {key[0]}."
            )
        self._recorded = (key, table.record(key), time.perf_counter())

    def wait(self, stream: Any = None) -> None:
        if self._recorded is not None:
            self._driver.streams.wait(self._key_of(stream), self._recorded[0], self._recorded[1])

    def _key_of(self, stream: Any) -> Key:
        if stream is not None:
            return stream.device_index, stream.stream_id
        index = self._driver.current
        return index, self._driver.streams.current(index)

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        return None

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds. The checks are those of c10::cuda::CUDAEvent; older releases raise RuntimeError for both."""
        error = ValueError if header_says("TORCH_CHECK_VALUE", "c10/core/impl/InlineEvent.h") else RuntimeError
        if not (self._timing and end_event._timing):
            raise error("Both events must be created with argument 'enable_timing=True'.")
        if self._recorded is None or end_event._recorded is None:
            raise error("Both events must be recorded before calculating elapsed time.")
        return float((end_event._recorded[2] - self._recorded[2]) * 1000.0)

    def ipc_handle(self) -> Any:
        raise NotSimulated("an event shared between processes")

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: Any) -> Any:
        raise NotSimulated("an event shared between processes")

    def __repr__(self) -> str:
        index = -1 if self.device.index is None else self.device.index
        return (
            f"torch.Event device_type={self._driver.kind}, device_index={index}, event_flag={int(self._timing)}, "
            f"event_id={self._handle}"
        )


def generic_classes(driver: Driver) -> tuple[Any, Any]:
    """`torch.Stream` and `torch.Event` while `driver` is simulated."""
    known = {"_driver": driver, "__module__": "torch"}
    stream = _IncludesReal("Stream", (SimulatedStream,), {**known, "_real": _RealStream})
    event = _IncludesReal("Event", (SimulatedEvent,), {**known, "_real": _RealEvent})
    return stream, event


def device_type_number(kind: str) -> int:
    """`c10::DeviceType` (c10/core/DeviceType.h)."""
    return {"cuda": 1, "xpu": 12, "mps": 13}[kind]
