"""`torch.distributed` between two processes with an accelerator each."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from torchdevlint.runtime.simulated import simulate
from torchdevlint.runtime.simulated.errors import NotSimulated
from torchdevlint.runtime.simulated.operators import texts

NCCL2 = texts.installed() >= (2, 15)
"""Whether ``nccl`` is `ProcessGroupNCCL2`."""
BOUND = "ProcessGroupNCCL is bound to device {} but an operation was issued on {}"
SHARED = "both on CUDA device 0"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")
Answers = dict[str, Any]


def not_simulated(module: nn.Module) -> None:
    raise NotSimulated("fully_shard")


def work(rank: int, job: Callable[[int], Answers], backend: str | None, folder: str, answers: Any) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # the threads of OpenMP do not survive a fork
    dist.init_process_group(backend, init_method=f"file://{folder}/store", rank=rank, world_size=2)
    try:
        answers.put((rank, job(rank)))
    finally:
        dist.destroy_process_group()


def ranks(job: Callable[[int], Answers], backend: str | None, folder: Path) -> list[Answers]:
    """What `job` answers on the two ranks."""
    answers = torch.multiprocessing.get_context("fork").SimpleQueue()
    with simulate(2):
        torch.multiprocessing.start_processes(
            work, args=(job, backend, str(folder), answers), nprocs=2, start_method="fork"
        )
    return [found for _, found in sorted((answers.get() for _ in range(2)), key=lambda one: int(one[0]))]


def said(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return "nothing"


def collectives(rank: int) -> Answers:
    torch.cuda.set_device(rank)
    x = torch.full((2,), float(rank + 1), device="cuda")
    dist.all_reduce(x)
    parts = [torch.zeros(1, device="cuda") for _ in range(2)]
    dist.all_gather(parts, torch.full((1,), float(rank), device="cuda"))
    flat = torch.zeros(1, 4, device="cuda")
    dist.all_gather_into_tensor(flat, torch.full((2,), float(rank), device="cuda"))
    scattered = torch.zeros(1, device="cuda")
    dist.reduce_scatter_tensor(scattered, torch.arange(2.0, device="cuda"))
    whole = torch.tensor([-3 - rank, 3 + 2 * rank], device="cuda")
    averaged = torch.zeros(1, dtype=torch.long, device="cuda")
    dist.reduce_scatter_tensor(averaged, whole, dist.ReduceOp.AVG)
    dist.all_reduce(whole, dist.ReduceOp.AVG)
    objects: list[Any] = [None, None]
    dist.all_gather_object(objects, f"rank {rank}")
    dist.barrier(device_ids=[rank])
    dist.all_reduce(torch.ones(1, device="cuda"), group=dist.new_group([0, 1]))
    group = dist.new_group([0, 1], backend="gloo")
    on_the_cpu = torch.ones(1)
    dist.all_reduce(on_the_cpu, group=group)
    return {
        "backend": (dist.get_backend(), dist.is_nccl_available(), str(dist.group.WORLD._device_types)),
        "all_reduce": (str(x.device), x.tolist()),
        "all_gather": [one.item() for one in parts],
        "all_gather_into_tensor": flat.tolist(),
        "reduce_scatter": scattered.item(),
        "averaged": (averaged.item(), whole.tolist(), str(whole.device)),
        "average of truth": said(lambda: dist.all_reduce(whole > 0, dist.ReduceOp.AVG)),
        "objects": objects,
        "gloo": on_the_cpu.item(),
        "cpu": said(lambda: dist.all_reduce(torch.ones(1))),
        "mixed": said(lambda: dist.all_gather([x[:1], x[1:]], torch.ones(1))),
        "strided": said(lambda: dist.all_reduce(torch.ones(2, 2, device="cuda")[:, 0])),
    }


def test_collectives_over_nccl(tmp_path: Path) -> None:
    first, second = ranks(collectives, "nccl", tmp_path)
    assert first == {
        "backend": ("nccl", True, "[device(type='cuda')]"),
        "all_reduce": ("cuda:0", [3.0, 3.0]),
        "all_gather": [0.0, 1.0],
        "all_gather_into_tensor": [[0.0, 0.0, 1.0, 1.0]],
        "reduce_scatter": 0.0,
        "averaged": (-3, [-3, 4], "cuda:0"),
        "average of truth": "TypeError: Cannot use ReduceOp.AVG with boolean inputs",
        "objects": ["rank 0", "rank 1"],
        "gloo": 2.0,
        "cpu": "RuntimeError: No backend type associated with device type cpu",
        "mixed": "ValueError: Tensors must be CUDA and dense",
        "strided": "ValueError: Tensors must be contiguous",
    }
    assert second["all_reduce"] == ("cuda:1", [3.0, 3.0])
    assert second["reduce_scatter"] == 2.0
    assert second["averaged"] == (4, [-3, 4], "cuda:1")


def data_parallel(rank: int) -> Answers:
    torch.cuda.set_device(rank)
    torch.manual_seed(rank)
    found: Answers = {}
    variants: Answers = {"id": {"device_ids": [rank]}, "none": {}, "view": {"gradient_as_bucket_view": True}}
    for name, options in variants.items():
        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).cuda(rank)
        model = DistributedDataParallel(net, **options)
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            x = torch.rand(5, 3)
            model(x if name == "id" else x.cuda(rank)).sum().backward()
            optimizer.step()
        weight = net[0].weight
        both = [torch.zeros_like(weight), torch.zeros_like(weight)]
        dist.all_gather(both, weight.data)
        assert weight.grad is not None
        found[name] = (str(weight.grad.device), torch.equal(both[0], both[1]), next(iter(model.state_dict())))
    inputs = torch.nn.Linear(3, 1).cuda(rank)
    left = torch.ones(1, 3)  # torchdevlint: ignore[TDL014]
    found["input"] = said(lambda: DistributedDataParallel(inputs)(left))[:68]
    ids = "DistributedDataParallel device_ids and output_device arguments only work with single-device"
    found["cpu with ids"] = ids in said(lambda: DistributedDataParallel(nn.Linear(1, 1), device_ids=[rank]))
    found["backends"] = dist.get_backend_config()
    found["cpu"] = said(lambda: DistributedDataParallel(nn.Linear(1, 1)))
    synced = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(3)).cuda(rank)
    x = torch.arange(12.0).reshape(4, 3)
    plain = nn.BatchNorm1d(3)
    mine = x[2 * rank : 2 * rank + 2].cuda(rank).requires_grad_()
    whole = x.clone().requires_grad_()
    outs = DistributedDataParallel(synced)(mine), plain(whole)
    for out in outs:
        out.pow(3).sum().backward()
    assert mine.grad is not None
    assert whole.grad is not None
    found["synced"] = [
        torch.allclose(outs[0].cpu(), outs[1][2 * rank : 2 * rank + 2], atol=1e-5),
        torch.allclose(synced.running_var.cpu(), plain.running_var),
        torch.allclose(mine.grad.cpu(), whole.grad[2 * rank : 2 * rank + 2], atol=1e-5),
    ]
    from torch.distributed import fsdp

    sharded = fsdp.FullyShardedDataParallel(nn.Linear(4, 4).cuda(rank), device_id=rank)
    loss = sharded(torch.ones(2, 4, device="cuda")).sum()
    loss.backward()
    found["sharded"] = str(loss.device)
    shard = getattr(fsdp, "fully_shard", None) or not_simulated  # since 2.6
    found["fully_shard"] = said(lambda: shard(nn.Linear(4, 4).cuda(rank)))[:25]
    return found


def test_distributed_data_parallel(tmp_path: Path) -> None:
    for rank, found in enumerate(ranks(data_parallel, None, tmp_path)):
        for name in ("id", "none", "view"):
            assert found[name] == (f"cuda:{rank}", True, "module.0.weight")
        assert found["input"].startswith("RuntimeError: Expected all tensors to be on the same device, but ")
        assert found["cpu with ids"]
        for_the_cpu = "cpu" in found["backends"]  # as it was where the program asks for none, before 2.6
        assert found["cpu"] == (
            "nothing" if for_the_cpu else "RuntimeError: No backend type associated with device type cpu"
        )
        assert found["sharded"] == f"cuda:{rank}"
        assert found["fully_shard"] == "NotSimulated: fully_shard"
        assert found["synced"] == [True, True, True]


def together(rank: int) -> Answers:
    return {"said": said(lambda: dist.all_reduce(torch.ones(1, device="cuda")))}


def test_two_ranks_on_one_accelerator_are_refused(tmp_path: Path) -> None:
    """Before 2.15 by NCCL, at their first collective; since then a group is bound to the accelerator of its rank."""
    first, second = (found["said"] for found in ranks(together, "nccl", tmp_path))
    if NCCL2:
        assert second == f"RuntimeError: {BOUND.format('cuda:1', 'cuda:0')}"
    else:
        assert any(
            text.startswith("DistBackendError: NCCL error") and text.endswith(SHARED) for text in (first, second)
        )


@pytest.mark.skipif(not NCCL2, reason="since 2.15 the accelerator of a group is known when it is made")
def test_two_groups_that_are_bound_to_one_accelerator_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_RANK", "0")
    with pytest.raises(torch.multiprocessing.ProcessRaisedException, match=SHARED):
        ranks(together, "nccl", tmp_path)


def test_a_group_that_is_given_its_accelerator_works_there_alone(tmp_path: Path) -> None:
    elsewhere = BOUND.format("cuda:1", "cuda:0") if NCCL2 else "tensor not on device passed to init_process_group"
    with simulate(2):
        alone(tmp_path, device_id=torch.device("cuda:1"))
        try:
            dist.all_reduce(torch.ones(1, device="cuda:1"))
            with pytest.raises(RuntimeError, match=elsewhere):
                dist.all_reduce(torch.ones(1, device="cuda:0"))
        finally:
            dist.destroy_process_group()


def alone(folder: Path, **options: Any) -> None:
    dist.init_process_group("nccl", init_method=f"file://{folder}/store", rank=0, world_size=1, **options)


def test_a_machine_without_accelerators_has_no_nccl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_gpu = "no GPUs found!|nccl2 requires at least one CUDA device"
    no_nccl = f"Distributed package doesn't have NCCL built in|{no_gpu}"  # in a CPU build, in a CUDA build
    with simulate(0), pytest.raises((RuntimeError, ValueError), match=no_nccl):
        alone(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with simulate(2), pytest.raises((RuntimeError, ValueError), match=no_gpu):
        alone(tmp_path)


def test_what_was_replaced_is_back_afterwards() -> None:
    names = ("_register_backend", "_get_backend", "_device_types")
    before = [vars(dist.ProcessGroup)[name] for name in names], dist.is_nccl_available()
    with simulate(2):
        assert dist.is_nccl_available()
    assert before == ([vars(dist.ProcessGroup)[name] for name in names], dist.is_nccl_available())
