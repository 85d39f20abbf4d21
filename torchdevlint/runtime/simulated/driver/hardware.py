"""What a simulated accelerator says about itself, and the small libraries beside its driver: cudart, NVTX, cuDNN."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from torchdevlint.runtime.simulated.driver.memory import TOTAL
from torchdevlint.runtime.simulated.errors import invalid_ordinal

if TYPE_CHECKING:
    from torchdevlint.runtime.simulated.driver.driver import Driver

NAME = "Simulated accelerator"
CAPABILITY = (8, 0)  # the least that supports bfloat16 and TF32 (torch.cuda.is_bf16_supported)

# Programs take `torch.version.cuda` apart as soon as CUDA is available, so it must not be None. A CPU build says this;
# what a build for CUDA says is its own, since other libraries compare it with that of theirs (torchvision, when it is
# imported). 12.6 is a CUDA for which wheels of 2.6 to 2.13 were built; the architectures are those of its x86-64 wheels
# (torch.cuda.PYTORCH_RELEASES_CODE_CC).
CUDA_VERSION = "12.6"
CUDA_VERSION_NUMBER = 12060
ARCHITECTURES = "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90"
CUDNN_VERSION = 90501


@dataclass(frozen=True)
class Properties:
    """The fields of `_CudaDeviceProperties` (torch/csrc/cuda/Module.cpp: registerCudaDeviceProperties)."""

    uuid: str
    pci_bus_id: int
    name: str = NAME
    major: int = CAPABILITY[0]
    minor: int = CAPABILITY[1]
    total_memory: int = TOTAL
    multi_processor_count: int = 108
    is_multi_gpu_board: int = 0
    is_integrated: int = 0
    max_threads_per_multi_processor: int = 2048
    max_threads_per_block: int = 1024
    warp_size: int = 32
    regs_per_multiprocessor: int = 65536
    shared_memory_per_block: int = 49152
    shared_memory_per_block_optin: int = 166912
    shared_memory_per_multiprocessor: int = 167936
    L2_cache_size: int = 41943040
    clock_rate: int = 1410000
    memory_clock_rate: int = 1215000
    memory_bus_width: int = 5120
    pci_device_id: int = 0
    pci_domain_id: int = 0
    gcnArchName: str = NAME  # noqa: N815  # PyTorch's name

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 2**20}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size // 2**20}MB)"
        )


def properties(driver: Driver, index: int) -> Properties:
    """Of a visible accelerator: which one it is shows in its UUID and bus."""
    ordinal = driver.ordinals()[index]
    return Properties(uuid=driver.uuids[ordinal].removeprefix("GPU-"), pci_bus_id=ordinal + 1)


# cudaGetErrorString of cuda_runtime_api.h
_ERRORS = {
    0: "no error",
    2: "out of memory",
    34: "CUDA driver is a stub library",
    100: "no CUDA-capable device is detected",
    101: "invalid device ordinal",
    600: "device not ready",
}


class _CudaError(int):
    """`cudaError`: a number, and a class with the name of success (torch/csrc/cuda/shared/cudart.cpp)."""

    success = 0


def cudart(driver: Driver) -> Any:
    """The module `torch._C._cudart`: what PyTorch binds of the CUDA runtime. Profilers and page locking do nothing."""

    def done(*args: Any) -> _CudaError:
        return _CudaError(0)

    def mem_get_info(device: int) -> tuple[int, int]:
        if device >= driver.visible():
            raise invalid_ordinal("cuda", device, driver.visible())
        return driver.memory[device].free, TOTAL

    return SimpleNamespace(
        cudaError=_CudaError,
        cudaGetErrorString=lambda error: _ERRORS.get(int(error), "unrecognized error code"),
        cudaProfilerStart=done,
        cudaProfilerStop=done,
        cudaHostRegister=done,
        cudaHostUnregister=done,
        cudaStreamCreate=done,
        cudaStreamDestroy=done,
        cudaMemGetInfo=mem_get_info,
    )


def nvtx() -> Any:
    """The module `torch._C._nvtx`: marks for a profiler that is not there. Depths and handles are as documented."""
    depth = itertools.count()
    handles = itertools.count(1)
    open_ranges: list[int] = []

    def push(message: str) -> int:
        open_ranges.append(next(depth))
        return len(open_ranges) - 1

    def pop() -> int:
        if open_ranges:
            open_ranges.pop()
            return len(open_ranges)
        return -2  # NVTX_NO_PUSH_POP_TRACKING

    return SimpleNamespace(
        rangePushA=push,
        rangePop=pop,
        rangeStartA=lambda message: next(handles),
        rangeEnd=lambda handle: None,
        markA=lambda message: None,
        deviceRangeStart=lambda message, stream: next(handles),
        deviceRangeEnd=lambda handle, stream: None,
    )
