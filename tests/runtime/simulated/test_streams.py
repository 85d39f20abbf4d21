"""Streams and events: nothing runs in them, but identity, order and errors are as in CUDA."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from tests.runtime.simulated.support import HAS_ACCELERATOR, machine
from torchdevlint.runtime.simulated.driver.driver import Driver
from torchdevlint.runtime.simulated.errors import NotSimulated


@pytest.fixture
def driver() -> Iterator[Driver]:
    with machine() as made:
        yield made


pytestmark = pytest.mark.usefixtures("driver")


def test_default_stream_is_current_at_first() -> None:
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    assert torch.cuda.current_stream().cuda_stream == 0
    assert torch.cuda.current_stream(1).device == torch.device("cuda:1")
    assert torch.cuda.default_stream(0) != torch.cuda.default_stream(1)


def test_stream_context() -> None:
    stream = torch.cuda.Stream()
    assert stream != torch.cuda.default_stream()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        if HAS_ACCELERATOR:
            assert torch.accelerator.current_stream().stream_id == stream.stream_id
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    with torch.cuda.stream(None):
        assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_stream_context_of_another_device() -> None:
    stream = torch.cuda.Stream("cuda:1")
    with torch.cuda.stream(stream):
        assert torch.cuda.current_device() == 1
        assert torch.cuda.current_stream() == stream
    assert torch.cuda.current_device() == 0
    assert torch.cuda.current_stream(1) == torch.cuda.default_stream(1)


def test_generic_stream_context() -> None:
    stream = torch.Stream("cuda:1")
    with stream:
        assert torch.cuda.current_device() == 1
        assert torch.cuda.current_stream().stream_id == stream.stream_id
        if HAS_ACCELERATOR:
            assert torch.accelerator.current_device_index() == 1
            assert torch.accelerator.current_stream() == stream
    assert torch.cuda.current_device() == 0


def test_current_stream_belongs_to_a_thread() -> None:
    torch.cuda.set_stream(torch.cuda.Stream())
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(torch.cuda.current_stream().cuda_stream))
    thread.start()
    thread.join()
    assert elsewhere == [0]
    assert torch.cuda.current_stream().cuda_stream != 0


def test_the_pool_has_32_streams_of_a_priority() -> None:
    streams = [torch.cuda.Stream() for _ in range(33)]
    assert len(set(streams)) == 32
    assert streams[32] == streams[0]
    assert torch.cuda.Stream(priority=-1) not in streams


@pytest.mark.parametrize(("asked", "given"), [(0, 0), (-1, -1), (-2, -2), (-9, -3), (5, 0)])
def test_priority(asked: int, given: int) -> None:
    assert torch.cuda.Stream(priority=asked).priority == given
    assert torch.cuda.Stream.priority_range() == (0, -3)


def test_classes() -> None:
    stream, event = torch.cuda.Stream(), torch.cuda.Event()
    assert isinstance(stream, torch.Stream)
    assert isinstance(event, torch.Event)
    assert isinstance(stream, torch.cuda.Stream)
    assert isinstance(event, torch.cuda.Event)
    assert not isinstance(torch.Stream("cuda"), torch.cuda.Stream)
    assert isinstance(torch.Stream("cpu"), torch.Stream)
    assert torch.Stream("cpu").device.type == "cpu"
    assert torch.Event("cpu").device.type == "cpu"
    assert stream != event
    assert repr(stream).startswith("<torch.cuda.Stream device=cuda:0 cuda_stream=0x")
    assert repr(event) == "<torch.cuda.Event uninitialized>"


def test_external_stream() -> None:
    stream = torch.cuda.ExternalStream(0x1234, device="cuda:1")
    assert stream.cuda_stream == 0x1234
    assert stream.device == torch.device("cuda:1")
    if hasattr(torch.cuda, "get_stream_from_external"):  # 2.7
        assert torch.cuda.get_stream_from_external(0x1234, "cuda:1") == stream


def test_order_is_remembered(driver: Driver) -> None:
    producer, consumer = torch.cuda.Stream(), torch.cuda.Stream()
    producer.record_event()
    event = producer.record_event()
    consumer.wait_event(event)
    keys = [(stream.device_index, stream.stream_id) for stream in (producer, consumer)]
    assert driver.streams.positions[keys[0]] == 2
    assert driver.streams.waits[keys[1]] == {keys[0]: 2}
    consumer.wait_stream(producer)
    assert driver.streams.waits[keys[1]] == {keys[0]: 3}


def test_events_take_time() -> None:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    end.record()
    torch.cuda.synchronize()
    assert isinstance(start.elapsed_time(end), float)
    assert start.elapsed_time(end) >= 0
    assert end.query()
    assert end.device == torch.device("cuda:0")


@pytest.mark.parametrize("generic", [False, True])
def test_errors_of_events(generic: bool) -> None:
    def event(timing: bool = True) -> torch.Event:
        return torch.Event("cuda", enable_timing=timing) if generic else torch.cuda.Event(enable_timing=timing)

    with pytest.raises((ValueError, RuntimeError), match="Both events must be recorded before calculating elapsed"):
        event().elapsed_time(event())
    untimed = event(timing=False)
    untimed.record()
    with pytest.raises((ValueError, RuntimeError), match="created with argument 'enable_timing=True'"):
        untimed.elapsed_time(untimed)
    recorded = event()
    recorded.record(torch.cuda.current_stream(0))
    with pytest.raises(RuntimeError, match="Event device 0 does not match recording stream's device 1"):
        recorded.record(torch.cuda.current_stream(1))
    with pytest.raises(NotSimulated):
        recorded.ipc_handle()


def test_events_that_were_never_recorded_are_done() -> None:
    event = torch.cuda.Event()
    assert event.query()
    event.synchronize()
    event.wait()
    assert event.device is None
    assert event.cuda_event == 0
