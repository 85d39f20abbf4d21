"""`xpu` and `mps` are names: there, counted, seeded, and nothing to wait for."""

from __future__ import annotations

import pytest
import torch

from tests.conftest import needs_fork
from tests.runtime.simulated.support import HAS_ACCELERATOR, machine
from torchdevlint.runtime.simulated.errors import NotSimulated


def test_xpu() -> None:
    with machine(2, "xpu") as driver:
        assert torch.xpu.is_available()
        assert torch.xpu.device_count() == 2
        assert not driver.initialised
        torch.xpu.manual_seed_all(4)
        assert torch.xpu.current_device() == 0
        assert torch.xpu.is_initialized()
        assert torch.xpu.initial_seed() == 4
        torch.xpu.set_device(1)
        assert driver.resolve(torch.device("xpu")) == torch.device("xpu:1")
        torch.xpu.synchronize()
        torch.xpu.empty_cache()
        assert torch.xpu.get_device_name() == "Simulated accelerator"
        assert torch.Generator("xpu").device == torch.device("xpu")
        if HAS_ACCELERATOR:
            assert torch.accelerator.current_accelerator() == torch.device("xpu")
        assert not torch.cuda.is_available()
        with pytest.raises(RuntimeError, match="is out of range"):
            driver.resolve(torch.device("xpu:2"))
    assert not torch.xpu.is_available()


@needs_fork
def test_xpu_in_a_forked_child() -> None:
    with machine(2, "xpu") as driver:
        torch.xpu.init()
        driver.after_fork()
        with pytest.raises(RuntimeError, match="Cannot re-initialize XPU in forked subprocess"):
            driver.resolve(torch.device("xpu"))


def test_mps() -> None:
    with machine(1, "mps") as driver:
        assert torch.backends.mps.is_available()
        assert torch.backends.mps.is_built()
        assert torch.mps.device_count() == 1
        torch.mps.manual_seed(4)
        state = torch.mps.get_rng_state()
        torch.mps.set_rng_state(state)
        torch.mps.synchronize()
        torch.mps.empty_cache()
        driver.memory[0].take(512)
        assert torch.mps.current_allocated_memory() == 512
        assert driver.resolve(torch.device("mps")) == torch.device("mps:0")
        if hasattr(getattr(torch, "accelerator", None), "get_device_capability"):
            assert torch.float64 not in torch.accelerator.get_device_capability()["supported_dtypes"]
        with pytest.raises(NotSimulated):
            torch.mps.profiler.start()
    assert not torch.backends.mps.is_available()
    assert not torch.backends.mps.is_built()
