"""Memory statistics: what is claimed, in the caching allocator's blocks."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from tests.runtime.simulated.support import machine
from torchdevlint.runtime.simulated.driver.driver import Driver


@pytest.fixture
def driver() -> Iterator[Driver]:
    with machine() as made:
        torch.cuda.init()
        yield made


def test_claims_are_counted_in_blocks(driver: Driver) -> None:
    driver.memory[0].take(4)
    driver.memory[0].take(513)
    driver.memory[1].take(2 * 1024**2)
    assert torch.cuda.memory_allocated() == 512 + 1024
    assert torch.cuda.memory_allocated(1) == 2 * 1024**2
    if hasattr(getattr(torch, "accelerator", None), "memory_allocated"):  # 2.9
        assert torch.accelerator.memory_allocated(1) == 2 * 1024**2
    stats = torch.cuda.memory_stats()
    assert stats["requested_bytes.all.current"] == 517
    assert stats["allocation.all.current"] == 2
    assert torch.cuda.memory_stats(1)["allocation.all.current"] == 1
    driver.memory[0].give(513)
    assert torch.cuda.memory_allocated() == 512
    assert torch.cuda.max_memory_allocated() == 512 + 1024


def test_nothing_takes_no_block(driver: Driver) -> None:
    driver.memory[0].take(0)
    driver.memory[0].give(0)
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == 0


def test_resets(driver: Driver) -> None:
    driver.memory[0].take(5000)
    driver.memory[0].give(5000)
    driver.memory[0].take(512)
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == 512
    stats = torch.cuda.memory_stats()
    assert (stats["allocation.all.allocated"], stats["allocation.all.freed"]) == (2, 1)
    torch.cuda.reset_accumulated_memory_stats()
    driver.memory[0].give(512)
    stats = torch.cuda.memory_stats()
    assert (stats["allocation.all.allocated"], stats["allocation.all.freed"]) == (0, 1)
    assert stats["allocated_bytes.all.freed"] == 512


def test_reserved_memory_is_given_back_by_empty_cache(driver: Driver) -> None:
    driver.memory[0].take(5 * 1024**2)
    assert torch.cuda.memory_reserved() == 6 * 1024**2
    free, total = torch.cuda.mem_get_info()
    assert total - free == 6 * 1024**2
    driver.memory[0].give(5 * 1024**2)
    assert torch.cuda.memory_reserved() == 6 * 1024**2
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 0
    assert torch.cuda.max_memory_reserved() == 6 * 1024**2
    assert torch.cuda.get_device_properties(0).total_memory == total


def test_reports(driver: Driver) -> None:
    driver.memory[0].take(3000)
    assert "Allocated memory      |   3072 B   " in torch.cuda.memory_summary()
    (segment,) = torch.cuda.memory_snapshot()
    assert (segment["device"], segment["allocated_size"], segment["requested_size"]) == (0, 3072, 3000)
    torch.cuda.set_per_process_memory_fraction(0.5, 1)
    if hasattr(torch.cuda, "get_per_process_memory_fraction"):
        assert torch.cuda.get_per_process_memory_fraction(1) == 0.5


def test_before_initialisation_there_are_no_statistics() -> None:
    with machine() as driver:
        driver.memory[0].take(512)
        assert torch.cuda.memory_stats() == {}
        assert torch.cuda.memory_allocated() == 0


def test_threads_lose_no_bytes(driver: Driver) -> None:
    def work() -> None:
        for _ in range(5000):
            driver.memory[0].take(700)
            driver.memory[0].give(700)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.cuda.memory_allocated() == 0
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == 20000
