"""`torch.accelerator` (2.6), whichever kind is simulated, answered by the driver.

The functions are those of torch/csrc/DeviceAccelerator.cpp; `torch.accelerator` itself stays above them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from torchdevlint.runtime.simulated.driver.memory import TOTAL
from torchdevlint.runtime.simulated.driver.streams import device_type_number
from torchdevlint.runtime.simulated.errors import refusing_class
from torchdevlint.runtime.simulated.operators import texts
from torchdevlint.runtime.simulated.patches import Patch

_LAST_COUNT_THAT_INITIALISES = (2, 7)

if TYPE_CHECKING:
    from torchdevlint.runtime.simulated.driver.driver import Driver


def patches(driver: Driver) -> Iterable[Patch]:
    """Nothing for a PyTorch without `torch.accelerator`."""
    accelerator = torch.device(driver.kind)
    yield torch._C, "_get_accelerator", lambda check=None: accelerator
    module = getattr(torch, "accelerator", None)
    if module is None:
        return
    for name, function in _functions(driver, accelerator).items():
        yield torch._C, name, function
    # It caches its answers for the life of the process.
    if hasattr(module, "get_device_capability"):
        yield module, "get_device_capability", functools.cache(module.get_device_capability.__wrapped__)
    if hasattr(module, "Graph"):
        yield module, "Graph", refusing_class("Graph", "a graph of an accelerator", "torch.accelerator")


def _functions(driver: Driver, accelerator: torch.device) -> dict[str, Any]:
    table = driver.streams

    def count() -> int:
        """Since 2.8 C++ asks the `device_count` of Python, before it initialises the device."""
        if texts.installed() <= _LAST_COUNT_THAT_INITIALISES:
            driver.initialise()
        counted: int = torch.get_device_module(accelerator).device_count()
        return counted

    def get_index() -> int:
        driver.initialise()
        return driver.current

    def set_index(index: int) -> None:
        if index >= 0:
            driver.initialise()
            driver.set_current(index)

    def get_stream(index: int) -> Any:
        driver.initialise()
        device = driver.resolve(torch.device(driver.kind, index))
        number = device_type_number(driver.kind)
        return torch.Stream(stream_id=table.current(device.index), device_index=device.index, device_type=number)

    def set_stream(stream: Any) -> None:
        driver.initialise()
        driver.set_current(stream.device_index)
        table.set_current(stream.device_index, stream.stream_id)

    def synchronise(index: int) -> None:
        if driver.initialised:
            driver.resolve(torch.device(driver.kind, index))

    return {
        "_accelerator_getAccelerator": lambda: accelerator,
        "_accelerator_deviceCount": count,
        "_accelerator_getDeviceIndex": get_index,
        "_accelerator_setDeviceIndex": set_index,
        "_accelerator_exchangeDevice": driver.exchange,
        "_accelerator_maybeExchangeDevice": driver.maybe_exchange,
        "_accelerator_getStream": get_stream,
        "_accelerator_setStream": set_stream,
        "_accelerator_synchronizeDevice": synchronise,
        "_accelerator_getDeviceCapability": lambda index: {"supported_dtypes": _dtypes(driver.kind)},
        "_accelerator_isAllocatorInitialized": lambda: driver.initialised,
        "_accelerator_emptyCache": driver.empty_cache,
        "_accelerator_emptyHostCache": lambda: None,
        "_accelerator_getDeviceStats": lambda index: driver.memory_of(index).stats(),
        "_accelerator_resetPeakStats": lambda index: driver.memory_of(index).reset_peak(),
        "_accelerator_resetAccumulatedStats": lambda index: driver.memory_of(index).reset_accumulated(),
        "_accelerator_getMemoryInfo": lambda index: (driver.memory_of(index).free, TOTAL),
    }


def _dtypes(kind: str) -> set[torch.dtype]:
    """All types, but for MPS those of 64-bit floats, which Metal lacks."""
    missing = {torch.float64, torch.complex128} if kind == "mps" else set()
    return {value for value in vars(torch).values() if isinstance(value, torch.dtype)} - missing
