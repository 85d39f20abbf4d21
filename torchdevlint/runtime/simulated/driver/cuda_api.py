"""The functions below `torch.cuda` that a CPU build of PyTorch lacks, answered by a simulated driver.

PyTorch's own Python stays above them: lazy initialisation, arguments and errors are its own. Replaced in `torch.cuda`
is only what it took from `torch._C` when it was imported, and its state, which starts as in a new process.
Sources: torch/csrc/cuda/Module.cpp, c10/cuda/CUDAFunctions.cpp, torch/csrc/utils/device_lazy_init.cpp.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from torchdevlint.runtime.simulated.driver import hardware
from torchdevlint.runtime.simulated.driver.generators import default_generators
from torchdevlint.runtime.simulated.driver.memory import host_stats
from torchdevlint.runtime.simulated.errors import refusing, refusing_class
from torchdevlint.runtime.simulated.patches import Patch

if TYPE_CHECKING:
    from torchdevlint.runtime.simulated.driver.driver import Driver


def patches(driver: Driver) -> Iterable[Patch]:
    """All of `torch.cuda` but streams and legacy tensor types; nothing for a machine without accelerators."""
    functions = {
        **_device_functions(driver),
        **_stream_functions(driver),
        **_memory_functions(driver),
        **_other_functions(driver),
    }
    for name, function in functions.items():
        yield torch._C, name, function
    for name, what in _REFUSED.items():
        yield torch._C, name, refusing(what)
    yield from _constants(driver)
    yield from _captured(driver, functions)
    yield from _fresh_state(driver)
    yield from _refused_classes()


def _device_functions(driver: Driver) -> dict[str, Any]:
    def init() -> None:
        driver.start()
        torch.cuda.default_generators = default_generators(driver)

    def get_device() -> int:
        driver.initialise()
        return driver.current

    def set_device(device: int) -> None:
        driver.initialise()
        driver.set_current(device)

    def can_access_peer(device: int, peer: int) -> bool:
        driver.initialise()
        return device != peer

    def get_arch_flags() -> str:
        driver.poison_forks()
        return hardware.ARCHITECTURES

    return {
        "_cuda_init": init,
        "_cuda_isInBadFork": lambda: driver.in_bad_fork,
        "_cuda_getDeviceCount": driver.count,
        "_cuda_getDevice": get_device,
        "_cuda_setDevice": set_device,
        "_cuda_exchangeDevice": driver.exchange,
        "_cuda_maybeExchangeDevice": driver.maybe_exchange,
        "_cuda_canDeviceAccessPeer": can_access_peer,
        "_cuda_getArchFlags": get_arch_flags,
        "_cuda_getCompiledVersion": getattr(torch._C, "_cuda_getCompiledVersion", lambda: hardware.CUDA_VERSION_NUMBER),
        "_cuda_hasPrimaryContext": lambda device: driver.initialised,
        "_cuda_synchronize": lambda: None,
        "_cuda_ipc_collect": lambda: None,
        "_cuda_sleep": lambda cycles: None,
    }


def _stream_functions(driver: Driver) -> dict[str, Any]:
    table = driver.streams

    def known(device: int) -> int:
        """c10/cuda/CUDAStream.cpp: check_gpu."""
        index = driver.current if device == -1 else device
        if not 0 <= index < driver.visible():
            raise RuntimeError(f"Device index value {index} is out of index range [0, {driver.visible()})")
        return index

    def current(device: int) -> tuple[int, int, int]:
        index = known(device)
        return table.current(index), index, 1

    def default(device: int) -> tuple[int, int, int]:
        return 0, known(device), 1

    def from_external(pointer: int, device: int) -> tuple[int, int, int]:
        index = known(device)
        return table.external(index, pointer), index, 1

    def set_stream(stream_id: int = 0, device_index: int = 0, device_type: int = 0) -> None:
        if driver.current != device_index:
            driver.set_current(device_index)
        table.set_current(device_index, stream_id)

    return {
        "_cuda_getCurrentStream": current,
        "_cuda_getDefaultStream": default,
        "_cuda_getStreamFromExternal": from_external,
        "_cuda_setStream": set_stream,
        "_cuda_getCurrentRawStream": lambda device: table.handle(known(device), table.current(known(device))),
        "_cuda_isCurrentStreamCapturing": lambda: False,
    }


def _memory_functions(driver: Driver) -> dict[str, Any]:
    def set_fraction(fraction: float, device: int) -> None:
        driver.memory_of(device).fraction = fraction

    def snapshot(mempool: Any = None) -> dict[str, Any]:
        segments = [segment for index, device in enumerate(driver.memory) for segment in device.segments(index)]
        return {"segments": segments, "device_traces": [[] for _ in driver.memory], "allocator_settings": {}}

    def initialised(function: Any) -> Any:
        def of_device(device: int) -> Any:
            driver.initialise()
            return function(driver.memory_of(device))

        return of_device

    return {
        "_cuda_memoryStats": lambda device: driver.memory_of(device).stats(),
        "_cuda_resetPeakMemoryStats": initialised(lambda device: device.reset_peak()),
        "_cuda_resetAccumulatedMemoryStats": initialised(lambda device: device.reset_accumulated()),
        "_cuda_hostMemoryStats": host_stats,
        "_cuda_resetPeakHostMemoryStats": lambda: None,
        "_cuda_resetAccumulatedHostMemoryStats": lambda: None,
        "_cuda_emptyCache": driver.empty_cache,
        "_cuda_setMemoryFraction": set_fraction,
        "_cuda_getMemoryFraction": lambda device: driver.memory_of(device).fraction,
        "_cuda_memorySnapshot": snapshot,
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_cudaCachingAllocator_is_enabled": lambda: True,
        "_cuda_cudaCachingAllocator_enable": lambda enabled: None,
        "_cuda_setMemoryMetadata": lambda metadata: None,
        "_cuda_getMemoryMetadata": lambda: "",
        "_cuda_isHistoryEnabled": lambda: False,
    }


def _other_functions(driver: Driver) -> dict[str, Any]:
    def set_sync_debug_mode(mode: int) -> None:
        if not 0 <= mode <= 2:
            raise RuntimeError("invalid value of debug_mode, expected one of 0,1,2")
        driver.sync_debug_mode = mode

    limit = [10]  # at::Context::benchmark_limit_cudnn

    return {
        "_cudart": hardware.cudart(driver),
        "_nvtx": hardware.nvtx(),
        "_cuda_set_sync_debug_mode": set_sync_debug_mode,
        "_cuda_get_sync_debug_mode": lambda: driver.sync_debug_mode,
        "_cuda_get_cudnn_benchmark_limit": lambda: limit[0],
        "_cuda_set_cudnn_benchmark_limit": lambda value: limit.__setitem__(0, value),
        "_cuda_clearCublasWorkspaces": lambda: None,
        "_nccl_version": lambda: (2 << 32) | (21 << 16) | 5,
        "_nccl_version_suffix": lambda: b"",
    }


_REFUSED = {
    **dict.fromkeys(
        ["_cuda_getCurrentBlasHandle", "_cuda_getCurrentSolverHandle", "_cuda_cudaHostAllocator"],
        "a handle of a CUDA library",
    ),
    **dict.fromkeys(
        [
            "_cuda_cudaCachingAllocator_raw_alloc",
            "_cuda_cudaCachingAllocator_raw_delete",
            "_cuda_customAllocator",
            "_cuda_getAllocator",
            "_cuda_changeCurrentAllocator",
            "_cuda_attach_out_of_memory_observer",
            "_cuda_getCheckpointState",
            "_cuda_setCheckpointPoolState",
        ],
        "CUDA's memory allocator as such",
    ),
    **dict.fromkeys(
        ["_cuda_record_memory_history", "_cuda_record_memory_history_legacy", "_cuda_allocationTraceback"],
        "the history of CUDA's memory allocator",
    ),
    "_cuda_jiterator_compile_and_launch_kernel": "a CUDA kernel from source",
    "_graph_pool_handle": "a CUDA graph",
    **dict.fromkeys(
        """
            _nccl_unique_id _nccl_init_rank _nccl_all_reduce _nccl_reduce _nccl_broadcast _nccl_all_gather
            _nccl_reduce_scatter
        """.split(),
        "NCCL",
    ),
    **{
        f"_cuda_{name}": "tuning of CUDA operations"
        for name in """
            tunableop_enable tunableop_is_enabled tunableop_tuning_enable tunableop_tuning_is_enabled
            tunableop_set_filename tunableop_get_filename tunableop_read_file tunableop_get_results
            tunableop_get_validators tunableop_set_max_tuning_duration tunableop_get_max_tuning_duration
            tunableop_set_max_tuning_iterations tunableop_get_max_tuning_iterations
            tunableop_set_rotating_buffer_size tunableop_get_rotating_buffer_size
            tunableop_set_numerical_check_tolerances record_untuned_enable record_untuned_is_enabled
        """.split()
    },
}


def _constants(driver: Driver) -> Iterable[Patch]:
    """What the build says of itself."""
    yield torch._C, "_has_cuda", True
    yield torch._C, "_has_cudnn", True
    yield torch._C, "_CudaDeviceProperties", hardware.Properties
    # `torch._inductor.cudagraph_trees` imports the two, and `torch._dynamo.reset` imports that.
    yield torch._C, "_cuda_CUDAAllocator_AllocatorState", refusing_class("AllocatorState", "a CUDA graph")
    yield torch._C, "_set_cached_tensors_enabled", lambda enabled: None
    yield torch.version, "cuda", torch.version.cuda or hardware.CUDA_VERSION
    yield torch.backends.cudnn.m, "_init", lambda: True
    yield torch.backends.cudnn.m, "version", lambda: hardware.CUDNN_VERSION


def _captured(driver: Driver, functions: dict[str, Any]) -> Iterable[Patch]:
    """What modules of `torch.cuda` took from `torch._C` at their import, and what NVML would tell them."""
    yield torch.cuda, "_cudart", functions["_cudart"]
    yield torch.cuda, "_is_in_bad_fork", functions["_cuda_isInBadFork"]
    yield torch.cuda, "_exchange_device", functions["_cuda_exchangeDevice"]
    yield torch.cuda, "_maybe_exchange_device", functions["_cuda_maybeExchangeDevice"]
    yield torch.cuda, "_CudaDeviceProperties", hardware.Properties
    yield torch.cuda, "_get_device_properties", lambda index: hardware.properties(driver, index)
    yield torch.cuda, "_raw_device_count_nvml", lambda: driver.installed
    yield torch.cuda, "_raw_device_uuid_nvml", lambda: list(driver.uuids)
    yield torch.cuda, "_get_pynvml_handler", refusing("what NVML measures on a GPU")
    yield torch.cuda.nvtx, "_nvtx", functions["_nvtx"]
    yield torch.cuda.graphs, "_cuda_isCurrentStreamCapturing", functions["_cuda_isCurrentStreamCapturing"]
    yield torch.cuda.graphs, "_graph_pool_handle", refusing(_REFUSED["_graph_pool_handle"])


def _fresh_state(driver: Driver) -> Iterable[Patch]:
    """The state of `torch.cuda` as a new process has it, with the seeds that were set so far.

    When the same driver comes back after an inner simulation, it is what it was.
    """
    queued, tracker = driver.kept.setdefault("queue", lazy_queue(torch.cuda))
    yield torch.cuda, "_initialized", driver.initialised
    yield torch.cuda, "_queued_calls", queued
    yield torch.cuda, "_lazy_seed_tracker", tracker
    yield torch.cuda, "_cached_device_count", None
    yield torch.cuda, "default_generators", driver.kept.get("generators", ())
    yield torch.cuda.graphs.graph, "default_capture_stream", None


def lazy_queue(module: Any) -> tuple[list[Any], Any]:
    """Copies of what `torch.cuda` or `torch.xpu` put off until it is initialised: calls, and seeds."""
    tracker = copy.copy(module._lazy_seed_tracker)
    if hasattr(tracker, "call_order"):
        tracker.call_order = list(tracker.call_order)
    # Kernels of Triton are registered once in a process, and are for real tensors only.
    queued = [entry for entry in module._queued_calls if entry[0].__name__ != "_register_triton_kernels"]
    return queued, tracker


def _refused_classes() -> Iterable[Patch]:
    for name, what, owners in (
        ("CUDAGraph", "a CUDA graph", (torch.cuda, torch.cuda.graphs)),
        ("GreenContext", "a green context", (torch.cuda,)),
        ("MemPool", "a pool of CUDA memory", (torch.cuda, torch.cuda.memory)),
        ("CUDAPluggableAllocator", "CUDA's memory allocator as such", (torch.cuda, torch.cuda.memory)),
    ):
        made = refusing_class(name, what)
        for owner in owners:
            if hasattr(owner, name):
                yield owner, name, made
