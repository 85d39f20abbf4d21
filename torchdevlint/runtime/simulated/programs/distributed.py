"""`torch.distributed`: what runs over NCCL runs over gloo here, between tensors that are on simulated accelerators.

Rendezvous, groups, object collectives and DistributedDataParallel are PyTorch's own. Beneath, every tensor is really on
the CPU, so the backend of the CPU carries everything; what a group says of its backends is what the program asked for,
and each collective checks first that its tensors are where that backend wants them.

Since 2.15 `nccl` is `ProcessGroupNCCL2`, which is bound to one accelerator from its start: the one that the program
names, else that of the rank (torch.distributed.distributed_c10d, `_nccl2_device`).

Sources: torch/csrc/distributed/c10d/{ProcessGroup,Ops,ProcessGroupNCCL,NCCLUtils}.cpp; of `ProcessGroupNCCL2` the
texts of nccl2/ProcessGroupNCCLBackend.cpp in the libtorch_cuda.so of 2.15.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import torch

from torchdevlint.runtime.simulated.errors import refusing
from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.programs import synchronised
from torchdevlint.runtime.simulated.state import Simulation, simulation
from torchdevlint.runtime.simulated.tensors.claims import claim_of, device_of
from torchdevlint.runtime.simulated.tensors.special import SPECIAL

_ACCELERATED = ("nccl", "nccl-legacy", "nccl2", "nccl-lazy", "xccl")
_BOUND = ("ProcessGroupNCCL2", "ProcessGroupNCCLLazy")
_FLAT = ("_allgather_base_", "_reduce_scatter_base_")  # gloo divides the first dimension, NCCL the elements
_CONTIGUOUS = ("allreduce_", "broadcast_", "reduce_", *_FLAT)
_PLAIN = (torch.contiguous_format,)
_LAYOUTS = {4: (*_PLAIN, torch.channels_last), 5: (*_PLAIN, torch.channels_last_3d)}
_BETWEEN_TWO = ("send", "recv_", "recv_any_source_")


def _accelerated_group(gloo: Any, name: str) -> Any:
    """The class of a backend that wants an accelerator, such as `ProcessGroupNCCL` or `ProcessGroupXCCL`, over gloo."""

    class Options:
        lazy_init = enable_reconfigure = False

        def __init__(self, is_high_priority_stream: bool = False) -> None:
            self.is_high_priority_stream = is_high_priority_stream
            self.backend = name.removeprefix("ProcessGroup").lower()
            self.global_ranks_in_group: list[int] = []
            self.group_name = ""
            self._timeout: Any = None
            self.config = NCCLConfig()

    class NCCLConfig:
        """Any attribute may be set; none has an effect."""

    class Group(gloo):  # type: ignore[misc]
        def __init__(
            self, store: Any, rank: int, size: int, options: Any = None, device_id: Any = None, timeout: Any = None
        ) -> None:
            """`options` may be a timeout; only the groups that are `_BOUND` are given a device."""
            active = simulation()
            if not active.driver.visible():
                raise ValueError(f"{name} is only supported with GPUs, no GPUs found!")
            timeout = options if isinstance(options, timedelta) else getattr(options, "_timeout", None) or timeout
            self.device = device_id
            place = _place(active, device_id) if device_id is not None else ""
            if place:
                _note(store, rank, place)
            super().__init__(store, rank, size, **({} if timeout is None else {"timeout": timeout}))
            _kept.append(self)  # C++ keeps only its own half of the object
            if place:
                _refuse_to_share(store, rank, size, place)

        uid = 0

        def split(self, store: Any, ranks: list[int], options: Any) -> Any:
            """The part of a bound group that `new_group` asks each of its `ranks` for (nccl2/ProcessGroupNCCL.cpp)."""
            return type(self)(store, ranks.index(self.rank()), len(ranks), options, self.device)

        def _shutdown(self) -> None:
            """Called by torch before 2.6 when a group is destroyed; gloo has nothing to shut down."""

        def eager_connect_single_device(self, device: torch.device) -> None:
            return None

        def perform_nocolor_split(self, device: torch.device) -> None:
            return None

    Group.Options, Group.NCCLConfig = Options, NCCLConfig
    Group.__name__ = Group.__qualname__ = name
    Group.__module__ = "torch.distributed.distributed_c10d"
    return Group


_kept: list[Any] = []
_met: dict[str, Any] = {}


def _backends(group: Any) -> dict[str, str]:
    """Which backend the program asked for, by type of device; empty for a group that is not ours to judge."""
    from torch.distributed.distributed_c10d import _world

    config = _world.pg_backend_config.get(group)
    return dict(pair.split(":", 1) for pair in config.split(",")) if config else {}


def _register_backend(original: Callable[..., None]) -> Callable[..., None]:
    def register(self: Any, device: torch.device, kind: Any, backend: Any) -> None:
        original(self, device, kind, backend)
        if device.type != "cpu" and not any(one.type == "cpu" for one in self._device_types):
            original(self, torch.device("cpu"), kind, backend)

    return register


def _get_backend(original: Callable[..., Any]) -> Callable[..., Any]:
    def get_backend(self: Any, device: torch.device) -> Any:
        backends = _backends(self)
        if backends and device.type not in backends:
            raise RuntimeError(f"No backend type associated with device type {device.type}")
        return original(self, device)

    return get_backend


def _types_over(original: Callable[[Any], list[torch.device]]) -> Callable[[Any], list[torch.device]]:
    def types(self: Any) -> list[torch.device]:
        backends = _backends(self)
        return [torch.device(kind) for kind in backends] if backends else original(self)

    return types


_REDUCTIONS = """
    allreduce allreduce_coalesced reduce reduce_scatter reduce_scatter_single _reduce_scatter_base
""".split()


def _averaging(original: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction of a group: NCCL averages integers, and cuts off what is behind the point; gloo refuses to.

    NCCL's src/device/reduce_kernel.h, `FuncSumPostDiv`; ProcessGroupNCCL.cpp, `getNcclReduceOp`.
    """

    def reduction(self: Any, outputs: Any, *args: Any) -> Any:
        options: Any = args[-1] if args else None
        average = getattr(options, "reduceOp", None) == torch.distributed.ReduceOp.AVG
        made = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
        kind = simulation().kind
        if not average or not made or made[0].is_floating_point() or made[0].is_complex():
            return original(self, outputs, *args)
        if device_of(made[0]).type != kind or _backends(self).get(kind) not in _ACCELERATED:
            return original(self, outputs, *args)
        if made[0].dtype == torch.bool:
            raise TypeError("Cannot use ReduceOp.AVG with boolean inputs")
        options.reduceOp = torch.distributed.ReduceOp.SUM
        work = original(self, outputs, *args)
        work.wait()
        if getattr(options, "rootRank", self.rank()) == self.rank():
            for tensor in made:
                tensor.div_(self.size(), rounding_mode="trunc")
        done: Any = torch.futures.Future()
        done.set_result(made)
        return torch._C._distributed_c10d._create_work_from_future(done)  # to wait for gloo's would write the sum again

    return reduction


def _collective(name: str) -> Callable[[Simulation, Any], Any]:
    """Checks the operands of one of `torch.ops.c10d`, then lets gloo run it. What has no claim is not judged."""

    def make(active: Simulation, func: Any) -> Any:
        call = func._op
        at = next(number for number, one in enumerate(func._schema.arguments) if "ProcessGroup" in str(one.type))

        def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            group = args[at] if len(args) > at else kwargs["process_group"]
            group = torch.distributed.ProcessGroup.unbox(group)
            backends = _backends(group)
            if backends:
                _check(active, group, backends, name, list(_claimed((args, kwargs))))
            if name in _CONTIGUOUS and backends.get(active.kind) in _ACCELERATED:
                _check_contiguous(args)
            if name in _FLAT:
                args = (args[0].reshape(-1), args[1].reshape(-1), *args[2:])
            return call(*args, **kwargs)

        return run

    return make


def _claimed(value: Any) -> Iterator[torch.device]:
    if isinstance(value, torch.Tensor):
        claim = claim_of(value)
        if claim is not None:
            yield claim.device
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _claimed(item)
    elif isinstance(value, dict):
        yield from _claimed(tuple(value.values()))


def _check(active: Simulation, group: Any, backends: dict[str, str], name: str, places: list[torch.device]) -> None:
    """The dispatcher takes the backend of the accelerator if any tensor is there (Ops.cpp), else that of the CPU."""
    if not places:
        return
    there = [place for place in places if place.type == active.kind]
    kind = active.kind if there else "cpu"
    if kind not in backends:
        raise RuntimeError(f"No backend type associated with device type {kind}")
    if backends[kind] not in _ACCELERATED:
        return
    if len(there) < len(places):
        # check_gpu_single_tensor; it does not see the lists of `allgather` and `reduce_scatter`, with which NCCL fails
        raise ValueError("Tensors must be CUDA and dense")
    if len(set(there)) > 1 and "_coalesced_" in name:
        raise ValueError("Expected list of tensors on the same device")  # check_gpu_tensors_same_device
    _check_bound(group, there[0])
    if name not in _BETWEEN_TWO:
        _meet(active, group, there[0])


def _check_bound(group: Any, device: torch.device) -> None:
    """`ProcessGroupNCCL::initNCCLComm`, and of ProcessGroupNCCL2 the check before each operation."""
    bound = group.bound_device_id
    if bound is None or bound == device:
        return
    if type(group._get_backend(device)).__name__ in _BOUND:
        raise RuntimeError(f"ProcessGroupNCCL is bound to device {bound} but an operation was issued on {device}")
    text = "Attempt to perform collective on tensor not on device passed to init_process_group"
    raise torch.distributed.DistBackendError(text)


def _check_contiguous(args: tuple[Any, ...]) -> None:
    for arg in args:
        for tensor in arg if isinstance(arg, (list, tuple)) else (arg,):
            if isinstance(tensor, torch.Tensor) and not any(
                tensor.is_contiguous(memory_format=layout) for layout in _LAYOUTS.get(tensor.dim(), _PLAIN)
            ):
                raise ValueError("Tensors must be contiguous")  # check_gpu_single_tensor


def _meet(active: Simulation, group: Any, device: torch.device) -> None:
    """The first collective of a group: NCCL refuses two ranks on one accelerator (TDL404).

    Each rank notes its accelerator in the group's store and looks at those that did before, so none waits here.
    """
    from torch.distributed.distributed_c10d import _world

    name, store, own = group.group_name, _world.pg_map[group][1], group.rank()
    if _met.get(name) is store:
        return
    _met[name] = store
    place = _place(active, device)
    _note(store, own, place)
    _refuse_to_share(store, own, group.size(), place)


def _place(active: Simulation, device: torch.device) -> str:
    """An accelerator by the machine that it is in."""
    return f"{_host()}:{active.driver.ordinals()[active.driver.resolve(device).index]}"


def _note(store: Any, rank: int, place: str) -> None:
    store.set(f"torchdevlint/{rank}", place)


def _refuse_to_share(store: Any, own: int, size: int, place: str) -> None:
    for rank in range(size):
        if (
            rank != own
            and store.check([f"torchdevlint/{rank}"])
            and store.get(f"torchdevlint/{rank}").decode() == place
        ):
            raise torch.distributed.DistBackendError(
                "NCCL error in: torch/csrc/distributed/c10d/NCCLUtils.cpp, invalid usage (run with NCCL_DEBUG=WARN for "
                "details)\nncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\n"
                f"Duplicate GPU detected : rank {own} and rank {rank} both on CUDA device {place.rpartition(':')[2]}"
            )


def _host() -> str:
    """Ranks on other machines have other accelerators; so have those of nodes that one machine plays (GROUP_RANK)."""
    return f"{socket.gethostname()}/{os.environ.get('GROUP_RANK', '')}"


_SHARDED = {
    "torch.distributed.fsdp": ("fully_shard",),
    "torch.distributed.fsdp._fully_shard": ("fully_shard",),
    "torch.distributed._composable.fsdp": ("fully_shard",),
    "torch.distributed.tensor": ("distribute_tensor", "distribute_module"),
    "torch.distributed.tensor.parallel": ("parallelize_module",),
}


def _distributed_tensors() -> Iterator[Patch]:
    """What makes a `DTensor`: a tensor without memory of its own, whose operations PyTorch carries out in C++."""
    for module, names in _SHARDED.items():
        loaded = sys.modules.get(module)
        for name in names:
            if hasattr(loaded, name):
                yield loaded, name, refusing(f"{name}, which makes parameters DTensors,", getattr(loaded, name))


def patches() -> Iterator[Patch]:
    """What replaces attributes of `torch.distributed`."""
    if not torch.distributed.is_available():
        return
    import torch.distributed.distributed_c10d as c10d

    group: Any = torch.distributed.ProcessGroup
    yield group, "_register_backend", _register_backend(group._register_backend)
    yield group, "_get_backend", _get_backend(group._get_backend)
    for name in _REDUCTIONS:
        if hasattr(group, name):  # the last but one is newer than 2.4
            yield group, name, _averaging(getattr(group, name))
    yield group, "_device_types", property(_types_over(vars(group)["_device_types"].__get__))
    for name in _collectives():
        overload = getattr(torch.ops.c10d, name).default
        SPECIAL[overload] = _collective(name)
    yield from synchronised.patches()
    yield from _distributed_tensors()
    driver = simulation().driver
    backend = {"cuda": "NCCL", "xpu": "XCCL"}.get(driver.kind)
    if backend is None or not driver.installed or not c10d.is_gloo_available():
        return
    yield c10d, f"_{backend}_AVAILABLE", True
    classes = [_accelerated_group(c10d.ProcessGroupGloo, name) for name in _classes(c10d, backend)]
    for made in classes:
        made.Options = classes[0].Options
        for owner in (c10d, torch.distributed, torch._C._distributed_c10d):
            yield owner, made.__name__, made
    if backend == "NCCL":
        yield c10d, "default_pg_nccl_timeout", timedelta(minutes=10)


def _classes(c10d: Any, backend: str) -> list[str]:
    """The classes by which torch makes groups of a backend. A CPU build has the functions that make them as well."""
    bound = _BOUND if backend == "NCCL" and hasattr(c10d, "_create_nccl2_process_group") else ()
    return [f"ProcessGroup{backend}", *bound]


def _collectives() -> list[str]:
    registered = torch._C._dispatch_get_registrations_for_dispatch_key("CPU")
    found = (name.removeprefix("c10d::").partition(".")[0] for name in registered if name.startswith("c10d::"))
    return sorted(set(found) - {"check_for_nan", "monitored_barrier_"})
