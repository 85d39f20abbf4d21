"""`xpu` and `mps`, where they are only names: is one there, which is current, seeds, nothing to wait for."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from torchdevlint.runtime.simulated.driver.cuda_api import lazy_queue
from torchdevlint.runtime.simulated.driver.generators import default_generators
from torchdevlint.runtime.simulated.driver.hardware import NAME
from torchdevlint.runtime.simulated.driver.memory import TOTAL
from torchdevlint.runtime.simulated.errors import refusing
from torchdevlint.runtime.simulated.patches import Patch

if TYPE_CHECKING:
    from torchdevlint.runtime.simulated.driver.driver import Driver


def patches(driver: Driver) -> Iterable[Patch]:
    return {"xpu": _xpu, "mps": _mps}[driver.kind](driver)


def _xpu(driver: Driver) -> Iterable[Patch]:
    """The functions of torch/csrc/xpu/Module.cpp that `torch.xpu` calls."""
    xpu = torch.xpu

    def init() -> None:
        driver.start()
        xpu.default_generators = default_generators(driver)

    functions = {
        "_xpu_getDeviceCount": driver.count,
        "_xpu_init": init,
        "_xpu_isInBadFork": lambda: driver.in_bad_fork,
        "_xpu_getDevice": lambda: driver.current,
        "_xpu_setDevice": driver.set_current,
        "_xpu_exchangeDevice": driver.exchange,
        "_xpu_maybeExchangeDevice": driver.maybe_exchange,
        "_xpu_canDeviceAccessPeer": lambda device, peer: device != peer,
        "_xpu_synchronize": lambda device=None: None,
        "_xpu_emptyCache": driver.empty_cache,
        "_xpu_memoryStats": lambda device: driver.memory_of(device).stats(),
        "_xpu_resetPeakMemoryStats": lambda device: driver.memory_of(device).reset_peak(),
        "_xpu_resetAccumulatedMemoryStats": lambda device: driver.memory_of(device).reset_accumulated(),
        "_xpu_getMemoryInfo": lambda device: (driver.memory_of(device).free, TOTAL),
        "_xpu_getArchFlags": lambda: "",
        "_xpu_isCurrentStreamCapturing": lambda: False,
        "_xpu_getCurrentStream": refusing("a stream of an XPU"),
        "_xpu_setStream": refusing("a stream of an XPU"),
    }
    for name, function in functions.items():
        yield torch._C, name, function
    yield torch._C, "_has_xpu", True
    yield xpu, "_is_in_bad_fork", functions["_xpu_isInBadFork"]
    yield xpu, "_exchange_device", driver.exchange
    yield xpu, "_maybe_exchange_device", driver.maybe_exchange
    yield xpu, "_get_device_properties", lambda index: _XpuProperties()
    if hasattr(xpu, "_raw_device_count_zes"):
        yield xpu, "_raw_device_count_zes", lambda visible: -1
    queued, tracker = driver.kept.setdefault("queue", lazy_queue(xpu))
    yield xpu, "_initialized", driver.initialised
    yield xpu, "_queued_calls", queued
    yield xpu, "_lazy_seed_tracker", tracker
    if hasattr(xpu, "_cached_device_count"):
        yield xpu, "_cached_device_count", None
    yield xpu, "default_generators", driver.kept.get("generators", ())
    for name in ("device_count", "get_device_properties", "get_device_capability", "get_device_name"):
        cached = getattr(xpu, name)
        if hasattr(cached, "__wrapped__"):  # cached for the life of the process in some releases
            fresh = functools.lru_cache(cached.__wrapped__)
            for owner in (xpu, xpu.random):
                if vars(owner).get(name) is cached:
                    yield owner, name, fresh


class _XpuProperties:
    """The few fields that programs read (torch/csrc/xpu/Module.cpp: registerXpuDeviceProperties)."""

    name = NAME
    platform_name = "Simulated"
    type = "gpu"
    total_memory = TOTAL
    max_compute_units = 512
    has_fp16 = True
    has_fp64 = True
    has_bfloat16_conversions = True
    has_subgroup_matrix_multiply_accumulate = True


def _mps(driver: Driver) -> Iterable[Patch]:
    """The functions of torch/csrc/mps/Module.cpp; `torch.mps` has no lazy initialisation of its own."""
    generators: list[Any] = []

    def default_generator() -> Any:
        if not generators:
            generators.extend(default_generators(driver))
        return generators[0]

    functions = {
        "_has_mps": True,
        "_mps_is_available": lambda: driver.visible() > 0,
        "_mps_is_in_bad_fork": lambda: driver.in_bad_fork,
        "_mps_is_on_macos_or_newer": lambda major, minor: True,
        "_mps_get_default_generator": default_generator,
        "_mps_deviceSynchronize": lambda: None,
        "_mps_emptyCache": driver.empty_cache,
        "_mps_setMemoryFraction": lambda fraction: None,
        "_mps_currentAllocatedMemory": lambda: driver.memory[0].allocated,
        "_mps_driverAllocatedMemory": lambda: driver.memory[0].reserved,
        "_mps_recommendedMaxMemory": lambda: TOTAL,
        "_mps_get_name": lambda: NAME,
        "_mps_get_core_count": lambda: 10,
        "_mps_profilerStartTrace": refusing("a trace of Metal"),
        "_mps_profilerStopTrace": refusing("a trace of Metal"),
    }
    for name, function in functions.items():
        yield torch._C, name, function
    yield torch.mps, "_is_in_bad_fork", functions["_mps_is_in_bad_fork"]
    yield torch.mps, "_default_mps_generator", None
    for name in ("is_available", "is_macos_or_newer", "is_macos13_or_newer", "get_name", "get_core_count"):
        cached: Any = getattr(torch.backends.mps, name, None)
        uncached = getattr(cached, "__wrapped__", None)
        if uncached is not None:  # cached for the life of the process
            yield torch.backends.mps, name, functools.lru_cache(uncached)
