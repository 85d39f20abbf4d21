"""A process that is one of several does not use a GPU of its own.

## What it does
Finds, in programs that run one process a GPU:

- the rank among all processes (`dist.get_rank()`, `os.environ["RANK"]`) where the number of a GPU of this machine is
  wanted: `torch.cuda.set_device(rank)`, `model.to(rank)`, `f"cuda:{rank}"`, `device_ids=[rank]`;
- a move to the current GPU (`model.cuda()`, `x.to("cuda")`) before `torch.cuda.set_device(local_rank)` chooses it;
- `DistributedDataParallel(model)` over NCCL, without `device_ids` or with `device_ids=[rank]`, where the model was
  moved to the same GPU in every process, because nothing in the file chooses another one;
- a tensor of the CPU that is sent over NCCL: `dist.all_reduce(torch.tensor(n))` where the file makes its groups with
  `init_process_group("nccl")`, or by an option that is `"nccl"` by default, or whose other collectives send what was
  put on a device, and `accelerator.gather(torch.tensor(n))`.

## Why is this bad?
Ranks count through all machines, GPUs only through one. On the first machine, and on a single one, both numbers are the
same; on the second machine rank 8 asks for a ninth GPU:

    torch.AcceleratorError: CUDA error: invalid device ordinal

In the other cases every process uses GPU 0. NCCL then refuses ("Duplicate GPU detected : rank 1 and rank 0 both on
CUDA device"), or parameters are on another GPU than inputs, which `DistributedDataParallel` brings to that of
`device_ids`:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:0!

NCCL sends nothing but tensors of GPUs:

    RuntimeError: No backend type associated with device type cpu

## Example
```python
import torch.distributed as dist

def main():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
```

## Use instead
```python
import torch.distributed as dist

def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
```
`torchrun` sets `LOCAL_RANK` for each process, and `dist.get_node_local_rank()` gives the same number. Choose the GPU
first, before anything is moved: after `set_device`, `.cuda()` and `"cuda"` are right in every process.

## Fix safety
There is no automatic fix: how processes are started decides where they find their number.

## What it cannot see
A rank that comes as an argument: `mp.spawn` gives the number on this machine, other launchers may not. A GPU that is
chosen in another file, or by a launcher that shows one GPU to each process (`CUDA_VISIBLE_DEVICES`,
`srun --gpus-per-task=1`), which makes `"cuda"` right everywhere. Files that start their processes themselves, or let
them meet at `localhost` or `127.0.0.1`, are taken to run on one machine.

## References
- [torchrun: environment variables](https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables)
- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html)
- openai/gpt-oss#266, meta-llama/llama-cookbook#90, LMCache/LMCache#814, facebookresearch/fairchem#597,
  NVIDIA/Megatron-LM#661
- [Backends](https://docs.pytorch.org/docs/stable/distributed.html#backends): which one sends tensors of which devices
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.processes import RankMismatch
from torchdevlint.model import Note, Report, Severity
from torchdevlint.rules.wording import code

SEVERITY = Severity.WARNING
EXECUTION = None
PROBE = '''
"""The first process of a second machine has no GPU with the number of its rank; its local rank is one."""
import os

import torch

NEEDS = "cuda"
RAISES = {"RuntimeError": ["invalid device ordinal"]}


def flagged(device, variable="RANK"):
    os.environ["RANK"] = str(torch.cuda.device_count())
    os.environ["LOCAL_RANK"] = "0"
    torch.cuda.set_device(int(os.environ[variable]))
    return {"current": torch.cuda.current_device()}


def repaired(device):
    return flagged(device, "LOCAL_RANK")
'''


def check(fact: RankMismatch) -> Iterator[Report]:
    if fact.kind == "global":
        yield Report(
            span=fact.at,
            message=f"{code(fact.text)} takes the rank among all processes for the number of a GPU of this machine",
            symptom="on the second machine: CUDA error: invalid device ordinal",
            help=f"use the local rank, {code(_local(fact))}, or the rank modulo `torch.cuda.device_count()`",
            notes=(Note("the rank among all processes is asked for here", fact.other_at),),
        )
    elif fact.kind == "late":
        yield Report(
            span=fact.at,
            message=f"{code(fact.text)} runs before {code(fact.other)}: it moves to GPU 0 in every process",
            symptom="what is moved later is on another GPU: Expected all tensors to be on the same device",
            help=f"call {code(fact.other)} first",
            notes=(Note("the GPU of this process is chosen here", fact.other_at),),
        )
    elif fact.kind == "host":
        yield Report(
            span=fact.at,
            message=f"{code(fact.text)} sends {code(fact.other)}, which is on the CPU, over NCCL",
            symptom="RuntimeError: No backend type associated with device type cpu",
            help="make it on the GPU of this process, with `device=`",
            notes=(Note("it is on the CPU from here on", fact.other_at),),
        )
    else:
        yield Report(
            span=fact.at,
            message=f"{code(fact.text)} wraps a model that is on the same GPU in every process, by {code(fact.other)}",
            symptom="NCCL: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device",
            help=_help(fact),
            notes=(Note("the model is moved there here", fact.other_at),),
        )


def _help(fact: RankMismatch) -> str:
    """What to do with a model that is on one GPU in every process: a number that is written stays what it is."""
    if fact.numbered:
        return f"move it to the GPU of this process instead, {code(f'.to({_local(fact)})')}"
    return f"call {code(f'torch.cuda.set_device({_local(fact)})')} before anything is moved"


def _local(fact: RankMismatch) -> str:
    """The number of this process on its machine, as its launcher gives it."""
    return f'int(os.environ["{fact.local}"])'
