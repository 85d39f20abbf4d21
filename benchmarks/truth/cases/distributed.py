"""`torch.distributed` in one process: groups over NCCL and gloo, and where their tensors have to be."""

# ruff: noqa: E501 (one row, one line)
# fmt: off
from __future__ import annotations

from dataclasses import replace

from benchmarks.truth.case import Case, ok, raises, rows
from benchmarks.truth.sources import on

C10D = "torch/distributed/distributed_c10d.py"
BACKENDS = "torch/csrc/distributed/c10d/ProcessGroup.hpp, getBackend"
OF_CUDA = "docs: torch.distributed (NCCL takes CUDA tensors, gloo those of the CPU)"
NO_CPU = raises("RuntimeError", "No backend type associated with device type cpu", source=BACKENDS)
DDP = "torch/nn/parallel/distributed.py"
START = "import torch.distributed as dist;;one = {'store': dist.HashStore(), 'rank': 0, 'world_size': 1}"
NCCL = f"{START};;dist.init_process_group('nccl', **one);;x = torch.ones(2, device=first)"

OVER_NCCL = rows(
    "distributed",
    (
        ("nccl/all-reduce", "dist.all_reduce(x);;seen['r'] = x;;seen['backend'] = dist.get_backend()", ok(OF_CUDA, r="cuda:0", backend="nccl")),
        ("nccl/all-reduce-average-of-integers", "y = torch.tensor([3, 4], device=first);;dist.all_reduce(y, dist.ReduceOp.AVG);;seen['r'] = [y, y.tolist()]", ok("docs: torch.distributed.ReduceOp (AVG with NCCL)", r=["cuda:0 int64 [2]", [3, 4]])),
        ("nccl/all-reduce-cpu", "dist.all_reduce(torch.ones(2))", NO_CPU),
        ("nccl/all-gather", "parts = [torch.zeros(2, device=first)];;dist.all_gather(parts, x);;seen['r'] = parts", ok(OF_CUDA, r=["cuda:0 float32 [2]"])),
        ("nccl/broadcast-cpu", "dist.broadcast(torch.ones(2), 0)", NO_CPU),
        ("nccl/objects", "objects = [{'a': 1}];;dist.broadcast_object_list(objects, 0);;seen['r'] = objects", ok(f"{C10D}, broadcast_object_list", r=[{"a": 1}])),
        ("nccl/barrier", "dist.barrier();;seen['r'] = dist.get_world_size()", ok("docs: torch.distributed.barrier", r=1)),
        ("nccl/new-group", "group = dist.new_group([0]);;dist.all_reduce(x, group=group);;seen['r'] = x", on("cuda:0", f"{C10D}, new_group")),
        ("nccl/new-group-of-gloo", "y = torch.ones(2);;dist.all_reduce(y, group=dist.new_group([0], backend='gloo'));;seen['r'] = y", on("cpu", f"{C10D}, new_group")),
        ("nccl/ddp", "m = nn.parallel.DistributedDataParallel(nn.Linear(2, 2).to(first));;m(x).sum().backward();;seen['r'] = m.module.weight.grad", on("cuda:0", DDP)),
        ("nccl/ddp-moves-inputs-to-its-device", "m = nn.parallel.DistributedDataParallel(nn.Linear(2, 2).to(first), device_ids=[0]);;seen['r'] = m(torch.ones(1, 2))", on("cuda:0", f"{DDP}, _pre_forward (to_kwargs)")),
        ("nccl/ddp-of-the-cpu", "nn.parallel.DistributedDataParallel(nn.Linear(2, 2))", NO_CPU),
        ("nccl/is-available", "seen['r'] = dist.is_nccl_available()", ok(f"{C10D}, is_nccl_available", r=True)),
    ),
    setup=NCCL,
    alone=True,
)

OTHERS = rows(
    "distributed",
    (
        ("nccl/device-id", "dist.init_process_group('nccl', device_id=torch.device(first), **one);;x = torch.ones(2, device=first);;dist.all_reduce(x);;seen['r'] = x", on("cuda:0", f"docs: init_process_group (device_id); {C10D}")),
        ("nccl/device-id-of-another", "dist.init_process_group('nccl', device_id=torch.device(second), **one);;dist.all_reduce(torch.ones(2, device=first))", raises("RuntimeError", "Attempt to perform collective on tensor not on device passed to init_process_group", "is bound to device cuda:1 but an operation was issued on cuda:0", source="torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, initNCCLComm; nccl2/ProcessGroupNCCLBackend.cpp")),
        ("gloo/all-reduce", "dist.init_process_group('gloo', **one);;x = torch.ones(2);;dist.all_reduce(x);;seen['r'] = x", on("cpu", OF_CUDA)),
        ("both/all-reduce", "dist.init_process_group('cpu:gloo,cuda:nccl', **one);;x, y = torch.ones(2), torch.ones(2, device=first);;dist.all_reduce(x);;dist.all_reduce(y);;seen['r'] = [x, y]", ok("docs: init_process_group (one backend for each type of device)", r=["cpu float32 [2]", "cuda:0 float32 [2]"])),
    ),
    setup=START,
    alone=True,
)

CASES: tuple[Case, ...] = (
    *OVER_NCCL,
    *(replace(row, devices=2) if "second" in row.program else row for row in OTHERS),
)
