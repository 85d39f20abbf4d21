"""`torch.Stream` and `torch.Event` of the simulated kind: they run nothing, and remember in which order they were used.

An event remembers stream, position and time.

Sources: torch/csrc/{Stream,Event}.cpp, c10/cuda/CUDAEvent.h, c10/core/impl/InlineEvent.h.
"""

from __future__ import annotations

import time
from abc import ABCMeta
from typing import Any

import torch

from torchdevlint.runtime.simulated.driver.driver import Driver
from torchdevlint.runtime.simulated.driver.stream_table import Key
from torchdevlint.runtime.simulated.errors import NotSimulated, header_says

_RealStream: Any = torch.Stream
_RealEvent: Any = torch.Event


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
