"""The classes of `torch.cuda.streams` above simulated streams and events.

Sources: torch/csrc/cuda/{Stream,Event}.cpp, c10/cuda/CUDAStream.h.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

from torchdevlint.runtime.simulated.driver.stream_table import PRIORITIES, priority_of
from torchdevlint.runtime.simulated.driver.streams import generic_classes
from torchdevlint.runtime.simulated.patches import Patch

if TYPE_CHECKING:
    from torchdevlint.runtime.simulated.driver.driver import Driver


def cuda_classes(driver: Driver, stream_class: Any, event_class: Any) -> ModuleType:
    """A second `torch.cuda.streams`: PyTorch's own classes, above simulated `_CudaStreamBase` and `_CudaEventBase`."""
    table = driver.streams

    class _CudaStreamBase(stream_class):  # type: ignore[misc]
        def __new__(
            cls,
            priority: int = 0,
            stream_id: int = 0,
            device_index: int = 0,
            device_type: int = 0,
            stream_ptr: int = 0,
        ) -> Any:
            if not (stream_id or device_index or device_type):
                driver.refuse_bad_fork()
                device_index = driver.resolve(torch.device("cuda")).index
                if stream_ptr:
                    stream_id = table.external(device_index, stream_ptr)
                else:
                    stream_id = table.create(device_index, priority)
            return cls._make(stream_id, device_index)

        @property
        def cuda_stream(self) -> int:
            return table.handle(*self._key)

        @property
        def priority(self) -> int:
            return priority_of(self.stream_id)

        @staticmethod
        def priority_range() -> tuple[int, int]:
            return 0, 1 - PRIORITIES

    class _CudaEventBase(event_class):  # type: ignore[misc]
        def __new__(
            cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
        ) -> Any:
            return cls._make(enable_timing)

        @property
        def device(self) -> Any:
            return None if self._recorded is None else torch.device("cuda", self._recorded[0][0])

        @property
        def cuda_event(self) -> int:
            return int(self._handle)

    real_module = torch.cuda.streams
    saved = [(name, vars(torch._C)[name]) for name in ("_CudaStreamBase", "_CudaEventBase")]
    spec = importlib.util.spec_from_file_location(real_module.__name__, real_module.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        torch._C._CudaStreamBase, torch._C._CudaEventBase = _CudaStreamBase, _CudaEventBase
        spec.loader.exec_module(module)
    finally:
        for name, value in saved:
            setattr(torch._C, name, value)
    vars(module).update(_CudaStreamBase=_CudaStreamBase, _CudaEventBase=_CudaEventBase)
    return module


def patches(driver: Driver) -> Iterable[Patch]:
    """`torch.Stream`, `torch.Event`, and with the kind cuda the classes of `torch.cuda`."""
    if "streams" not in driver.kept:
        generic = generic_classes(driver)
        driver.kept["streams"] = (*generic, cuda_classes(driver, *generic) if driver.kind == "cuda" else None)
    stream, event, module = driver.kept["streams"]
    yield torch, "Stream", stream
    yield torch, "Event", event
    if module is None:
        return
    yield torch._C, "_CudaStreamBase", module._CudaStreamBase
    yield torch._C, "_CudaEventBase", module._CudaEventBase
    for name in ("Stream", "ExternalStream", "Event"):
        made = getattr(module, name)
        yield torch.cuda.streams, name, made
        yield torch.cuda, name, made
