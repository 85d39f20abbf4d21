"""All that `torch.cuda` and `torch.accelerator` export, above a simulated driver; and that it is gone afterwards."""

# ruff: noqa: PLW0108  # lambdas look names up while the simulation is active, not before

from __future__ import annotations

import inspect
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from tests.runtime.simulated.support import HAS_ACCELERATOR, NO_GPU, machine, needs_accelerator
from torchdevlint.runtime.simulated.errors import NotSimulated

# Arguments for what needs some. What is not here is called without, if it is a function.
CUDA_CALLS: dict[str, Callable[[], object]] = {
    "CUDAGraph": lambda: torch.cuda.CUDAGraph(),
    "CUDAPluggableAllocator": lambda: torch.cuda.CUDAPluggableAllocator("library.so", "alloc", "free"),
    "CudaError": lambda: torch.cuda.CudaError(2),
    "DeferredCudaCallError": lambda: torch.cuda.DeferredCudaCallError(),
    "Event": lambda: torch.cuda.Event(),
    "ExternalStream": lambda: torch.cuda.ExternalStream(1),
    "GreenContext": lambda: torch.cuda.GreenContext(),
    "MemPool": lambda: torch.cuda.MemPool(),
    "Stream": lambda: torch.cuda.Stream(),
    "StreamContext": lambda: torch.cuda.StreamContext(torch.cuda.Stream()).__enter__(),
    "caching_allocator_alloc": lambda: torch.cuda.caching_allocator_alloc(10),
    "caching_allocator_delete": lambda: torch.cuda.caching_allocator_delete(10),
    "caching_allocator_disabled": lambda: torch.cuda.caching_allocator_disabled().__enter__(),
    "can_device_access_peer": lambda: torch.cuda.can_device_access_peer(0, 1),
    "change_current_allocator": lambda: torch.cuda.change_current_allocator(_Allocator()),
    "check_error": lambda: torch.cuda.check_error(0),
    "cudaStatus": lambda: torch.cuda.cudaStatus(),
    "device": lambda: torch.cuda.device(1).__enter__(),
    "device_of": lambda: torch.cuda.device_of(torch.zeros(2)).__enter__(),
    "export_dot": lambda: torch.cuda.export_dot("graph.dot"),
    "export_graph_data": lambda: torch.cuda.export_graph_data("graph.pickle"),
    "get_device_properties": lambda: torch.cuda.get_device_properties(0),
    "get_stream_from_external": lambda: torch.cuda.get_stream_from_external(1),
    "graph": lambda: torch.cuda.graph(torch.cuda.CUDAGraph()),
    "make_graphed_callables": lambda: torch.cuda.make_graphed_callables(torch.nn.Linear(2, 2), (torch.zeros(1, 2),)),
    "manual_seed": lambda: torch.cuda.manual_seed(1),
    "manual_seed_all": lambda: torch.cuda.manual_seed_all(1),
    "set_device": lambda: torch.cuda.set_device(1),
    "set_per_process_memory_fraction": lambda: torch.cuda.set_per_process_memory_fraction(0.5),
    "set_rng_state": lambda: torch.cuda.set_rng_state(torch.cuda.get_rng_state()),
    "set_rng_state_all": lambda: torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all()),
    "set_stream": lambda: torch.cuda.set_stream(torch.cuda.Stream()),
    "set_sync_debug_mode": lambda: torch.cuda.set_sync_debug_mode("warn"),
    "stream": lambda: torch.cuda.stream(torch.cuda.Stream()).__enter__(),
    "use_mem_pool": lambda: torch.cuda.use_mem_pool(torch.cuda.MemPool()),
}

CUDA_REFUSED = {
    *"CUDAGraph graph graph_pool_handle make_graphed_callables GreenContext".split(),
    *"CUDAPluggableAllocator MemPool use_mem_pool change_current_allocator".split(),
    *"caching_allocator_alloc caching_allocator_delete current_blas_handle current_solver_handle".split(),
    *"utilization temperature power_draw clock_rate memory_usage device_memory_used".split(),
}

ACCELERATOR_CALLS: dict[str, Callable[[], object]] = {
    "Graph": lambda: torch.accelerator.Graph(),
    "device_index": lambda: torch.accelerator.device_index(torch.accelerator.device_count() - 1).__enter__(),
    "set_device_idx": lambda: torch.accelerator.set_device_idx(0),
    "set_device_index": lambda: torch.accelerator.set_device_index(torch.accelerator.device_count() - 1),
    "set_stream": lambda: torch.accelerator.set_stream(torch.Stream()),
}


class _Allocator:
    def allocator(self) -> object:
        return object()


@pytest.fixture(autouse=True)
def _visible(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated names are walked over, too
        yield


def call(module: types.ModuleType, name: str, calls: dict[str, Callable[[], object]]) -> str:
    """`works` or `refused`; every other outcome is an error of the test."""
    value = getattr(module, name)
    known = calls.get(name)
    if known is None:
        if not inspect.isfunction(inspect.unwrap(value)):
            assert isinstance(value, (types.ModuleType, type, bool, tuple)), (name, value)
            return "works"
        known = value
    try:
        known()
    except NotSimulated:
        return "refused"
    return "works"


@pytest.mark.parametrize("name", sorted(torch.cuda.__all__))
def test_torch_cuda(name: str) -> None:
    with machine():
        expected = "refused" if name in CUDA_REFUSED else "works"
        assert call(torch.cuda, name, CUDA_CALLS) == expected


@needs_accelerator
@pytest.mark.parametrize("name", sorted(torch.accelerator.__all__) if HAS_ACCELERATOR else [])
@pytest.mark.parametrize("kind", ["cuda", "xpu", "mps"])
def test_torch_accelerator(name: str, kind: str) -> None:
    with machine(2 if kind != "mps" else 1, kind):
        expected = "refused" if name == "Graph" else "works"
        assert call(torch.accelerator, name, ACCELERATOR_CALLS) == expected


def test_answers() -> None:
    own = torch.version.cuda
    compiled = torch._C._cuda_getCompiledVersion() if own else 12060
    with machine():
        assert torch.cuda.is_available()
        assert torch.cuda.device_count() == 2
        assert torch.cuda.get_device_name() == "Simulated accelerator"
        assert torch.cuda.get_device_capability(1) == (8, 0)
        assert torch.cuda.is_bf16_supported()
        if hasattr(torch.cuda, "is_tf32_supported"):  # 2.6
            assert torch.cuda.is_tf32_supported()
        assert torch.cuda.can_device_access_peer(0, 1)
        assert "sm_80" in torch.cuda.get_arch_list()
        assert torch.cuda.get_device_properties(0).uuid != torch.cuda.get_device_properties(1).uuid
        assert torch.backends.cuda.is_built()
        assert torch.backends.cudnn.is_available()
        assert torch.backends.cudnn.version() > 90000
        assert torch.version.cuda == (own or "12.6")  # of a build for CUDA it is compared by what is built for it
        assert torch._C._cuda_getCompiledVersion() == compiled
        assert torch.get_device_module() is torch.cuda
        assert torch._utils._get_available_device_type() == "cuda"


@needs_accelerator
def test_answers_of_the_accelerator() -> None:
    with machine():
        assert torch.accelerator.current_accelerator() == torch.device("cuda")
        assert torch.accelerator.is_available()
        assert torch.accelerator.device_count() == 2
        if hasattr(torch.accelerator, "get_device_capability"):
            assert torch.float16 in torch.accelerator.get_device_capability()["supported_dtypes"]


def test_initialisation_gives_no_warnings() -> None:
    with machine(), warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.cuda.init()


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda: torch.cuda.get_device_properties(2), AssertionError, "Invalid device id"),
        (lambda: torch.cuda.get_device_name("cpu"), ValueError, "Expected a cuda device, but got: cpu"),
        (lambda: torch.cuda.set_device("cpu"), ValueError, "Expected a cuda device, but got: cpu"),
        (lambda: torch.cuda.can_device_access_peer(0, 3), AssertionError, "Invalid peer device id"),
        (lambda: torch.cuda.set_sync_debug_mode("loud"), RuntimeError, "invalid value of debug_mode"),
        (lambda: torch.cuda.set_per_process_memory_fraction(2.0), ValueError, "Invalid fraction value"),
        (lambda: torch.cuda.reset_peak_memory_stats(2), RuntimeError, "Invalid device argument 2: did you call init"),
        (lambda: torch.cuda.mem_get_info(2), RuntimeError, "invalid device ordinal"),
        (lambda: torch.cuda.current_stream(4), RuntimeError, "out of index range"),
        pytest.param(
            lambda: torch.accelerator.set_device_index("xpu:0"),
            ValueError,
            "doesn't match the current accelerator",
            marks=needs_accelerator,
        ),
    ],
)
def test_errors_are_those_of_pytorch(use: Callable[[], object], error: type[Exception], text: str) -> None:
    with machine(), pytest.raises(error, match=text):
        use()


def test_nvtx_and_profiler_do_nothing() -> None:
    with machine():
        assert torch.cuda.nvtx.range_push("outer") == 0
        assert torch.cuda.nvtx.range_push("inner") == 1
        assert torch.cuda.nvtx.range_pop() == 1
        assert torch.cuda.nvtx.range_pop() == 0
        with torch.cuda.nvtx.range("range"), torch.cuda.profiler.profile():
            torch.cuda.nvtx.mark("mark")
        torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("range"))


def test_legacy_tensor_types() -> None:
    with machine():
        made = torch.cuda.FloatTensor([1.0, 2.0])
        assert made.tolist() == [1.0, 2.0]
        assert torch.cuda.FloatTensor(2, 3).shape == (2, 3)
        assert torch.cuda.LongTensor([1]).dtype is torch.int64
        assert torch.cuda.HalfTensor.is_cuda
        assert not isinstance(torch.zeros(2), torch.cuda.FloatTensor)
        with pytest.raises(RuntimeError, match="legacy constructor expects device type: cuda but device type: cpu"):
            torch.cuda.FloatTensor(2, device="cpu")


def test_choice_of_libraries_is_remembered() -> None:
    before = torch.backends.cuda.preferred_linalg_library()
    with machine():
        torch.backends.cuda.preferred_linalg_library("magma")
        assert "magma" in str(torch.backends.cuda.preferred_linalg_library()).lower()
        torch.backends.cuda.cufft_plan_cache[1].max_size = 10
        assert torch.backends.cuda.cufft_plan_cache[1].max_size == 10
        assert torch.backends.cuda.cufft_plan_cache.size == 0
        torch.backends.cuda.cufft_plan_cache.clear()
        with pytest.raises(RuntimeError, match="expected 0 <= device index < 2"):
            torch.backends.cuda.cufft_plan_cache[2]
    assert torch.backends.cuda.preferred_linalg_library() == before


@pytest.mark.parametrize("activities", [["CUDA"], ["CPU", "CUDA"]])
def test_profiles_see_the_cpu(activities: list[str]) -> None:
    chosen = [getattr(torch.profiler.ProfilerActivity, name) for name in activities]
    with machine():
        with torch.profiler.profile(activities=chosen) as profile:
            torch.ones(2, 2) @ torch.ones(2, 2)
        assert "aten::mm" in profile.key_averages().table(sort_by="cuda_time_total")


def snapshot() -> dict[str, dict[str, Any]]:
    owners: dict[str, Any] = {
        "torch": torch,
        "torch._C": torch._C,
        "torch.version": torch.version,
        "torch.cuda": torch.cuda,
        "torch.cuda.graphs": torch.cuda.graphs,
        "torch.cuda.graphs.graph": torch.cuda.graphs.graph,
        "torch.cuda.memory": torch.cuda.memory,
        "torch.cuda.nvtx": torch.cuda.nvtx,
        "torch.cuda.random": torch.cuda.random,
        "torch.cuda.streams": torch.cuda.streams,
        "torch.autograd.profiler.profile": torch.autograd.profiler.profile,
        "torch.backends.cuda": torch.backends.cuda,
        "torch.backends.cudnn": torch.backends.cudnn.m,
        "torch._C._nn": torch._C._nn,
        "torch.backends.mps": torch.backends.mps,
        "torch.mps": torch.mps,
        "torch.xpu": torch.xpu,
    }
    if HAS_ACCELERATOR:
        owners["torch.accelerator"] = torch.accelerator
    return {name: dict(vars(owner)) for name, owner in owners.items()}


@pytest.mark.parametrize(("kind", "installed"), [("cuda", 2), ("cuda", 0), ("xpu", 2), ("mps", 1)])
def test_everything_is_restored(kind: str, installed: int) -> None:
    torch.cuda.manual_seed(5)
    before = snapshot()
    tracker = dict(vars(torch.cuda._lazy_seed_tracker))
    queued = list(torch.cuda._queued_calls)
    with machine(installed, kind):
        if installed:
            assert snapshot() != before
            torch.get_device_module(kind).manual_seed(1)
            if HAS_ACCELERATOR:
                torch.accelerator.current_device_index()
            if hasattr(getattr(torch, "accelerator", None), "get_device_capability"):
                torch.accelerator.get_device_capability()
    after = snapshot()
    for name, values in before.items():
        assert after[name].keys() == values.keys(), name
        changed = [key for key, value in values.items() if after[name][key] is not value]
        assert not changed, name
    assert vars(torch.cuda._lazy_seed_tracker) == tracker
    assert torch.cuda._queued_calls == queued
    assert not torch.cuda.is_available()
    error, text = NO_GPU
    with pytest.raises(error, match=text):
        torch.cuda.init()
