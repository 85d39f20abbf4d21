"""Threads that live longer than a simulation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch

from torchdevlint.runtime.simulated import simulate


def where() -> list[str]:
    return [str(torch.ones(1).device), str((torch.ones(1) + torch.ones(1)).device)]


def on_the_accelerator() -> str:
    return str((torch.ones(1, device="cuda:1") + 1).device)


def test_a_pool_from_before_takes_part_and_one_from_within_can_be_used_after() -> None:
    with ThreadPoolExecutor(1) as before, ThreadPoolExecutor(1) as within:
        before.submit(where).result(10)
        with simulate(2):
            assert before.submit(on_the_accelerator).result(10) == "cuda:1"
            assert within.submit(on_the_accelerator).result(10) == "cuda:1"
        for pool in (before, within):
            assert pool.submit(where).result(10) == ["cpu", "cpu"]
        with simulate(2):
            for pool in (before, within):
                assert pool.submit(on_the_accelerator).result(10) == "cuda:1"
