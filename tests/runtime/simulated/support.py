"""A simulated machine, by its driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from torchdevlint.runtime.simulated import simulate
from torchdevlint.runtime.simulated.driver import api
from torchdevlint.runtime.simulated.driver.driver import Driver
from torchdevlint.runtime.simulated.operators.texts import installed
from torchdevlint.runtime.simulated.patches import Patches

HAS_ACCELERATOR = hasattr(torch, "accelerator")
needs_accelerator = pytest.mark.skipif(not HAS_ACCELERATOR, reason="torch.accelerator came with torch 2.6")

def since(*release: int) -> pytest.MarkDecorator:
    return pytest.mark.skipif(installed() < release, reason=f"so since torch {release[0]}.{release[1]}")


# What a build of PyTorch says where there is no GPU; a build for CUDA finds no driver, or no device.
NO_GPU: tuple[type[Exception], str] = (AssertionError, "Torch not compiled with CUDA enabled")
if torch.backends.cuda.is_built():
    NO_GPU = (RuntimeError, "Found no NVIDIA driver|No CUDA GPUs are available")


@contextmanager
def driven(driver: Driver) -> Iterator[Driver]:
    """`driver` below PyTorch without the rest of a simulation: no claims on tensors, no dispatch mode."""
    patches = Patches(api.patches(driver))
    patches.apply()
    try:
        yield driver
    finally:
        patches.take_back()


@contextmanager
def driver_only(installed: int = 2, kind: str = "cuda") -> Iterator[Driver]:
    with driven(Driver(kind, installed)) as driver:
        yield driver


@contextmanager
def machine(installed: int = 2, kind: str = "cuda") -> Iterator[Driver]:
    """The driver of a whole simulation."""
    with simulate(installed, kind) as simulation:
        yield simulation.driver
