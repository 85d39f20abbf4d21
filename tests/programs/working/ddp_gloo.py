"""Two processes, each with its own GPU if there are two: DistributedDataParallel over gloo."""

import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

RANKS = 2


def work(rank: int, folder: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=RANKS)
    several = torch.cuda.device_count() >= RANKS
    if several:
        torch.cuda.set_device(rank)
    device = torch.device("cuda", rank) if several else torch.device("cpu")

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    sampler = DistributedSampler(data, num_replicas=RANKS, rank=rank)
    loader = DataLoader(data, batch_size=8, sampler=sampler)

    torch.manual_seed(rank)  # ranks start with different weights: DDP makes them equal
    model = nn.Linear(4, 1).to(device)
    wrapped = DistributedDataParallel(model, device_ids=[rank] if several else None)
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    losses = []
    for epoch in range(6):
        sampler.set_epoch(epoch)
        for one, two in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(wrapped(one.to(device)), two.to(device))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())

    mine = model.weight.detach().cpu()  # gathering GPU tensors is not in gloo's table of the documentation
    weights = [torch.zeros_like(mine) for _ in range(RANKS)]
    dist.all_gather(weights, mine)
    assert torch.equal(weights[0], weights[1]), "the ranks agree"
    mean = torch.tensor(losses[-1], device=device)
    dist.all_reduce(mean)
    assert next(wrapped.parameters()).device == device
    assert mean.device == device
    assert mean.item() / RANKS < losses[0] / 4, losses
    if rank == 0:
        torch.save(wrapped.module.state_dict(), Path(folder) / "model.pt")
    dist.barrier()
    loaded = torch.load(Path(folder) / "model.pt", map_location={"cuda:0": f"cuda:{rank}"})
    assert loaded["weight"].device == device
    dist.destroy_process_group()
    print(f"rank {rank} on {device}: loss {losses[0]:.3f} -> {losses[-1]:.3f}")


if __name__ == "__main__":
    if not dist.is_gloo_available():
        sys.exit("ddp over gloo: this build of torch has no gloo")
    with tempfile.TemporaryDirectory() as shared:
        mp.spawn(work, args=(shared,), nprocs=RANKS)
    print(f"ddp over gloo: {RANKS} ranks, {torch.cuda.device_count()} GPUs")
