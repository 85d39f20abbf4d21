"""Below `torch.nn.DataParallel`: what a CPU build of `torch._C` lacks of `torch.nn.parallel.comm`.

Scattering, replicating, the threads of the replicas and gathering are PyTorch's own Python; only the copies between
devices are here. Semantics and texts: torch/csrc/cuda/comm.cpp.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from torchdevlint.runtime.simulated.errors import refusing
from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.state import simulation
from torchdevlint.runtime.simulated.tensors.claims import CPU, device_of
from torchdevlint.runtime.simulated.tensors.movement import move

Tensors = Sequence[torch.Tensor]

_NCCL = (2, 21, 5)  # any: programs ask whether it is at least some version


def broadcast(tensor: torch.Tensor, devices: Sequence[int]) -> list[torch.Tensor]:
    """A copy for each device; the tensor itself for its own."""
    own = tensor.get_device()
    copies = []
    for index in devices:
        if index < 0:
            raise RuntimeError(f"Expected non-negative device index, but got {index}")
        copies.append(tensor if index == own else move(tensor, _accelerator(index), non_blocking=True))
    return copies


def broadcast_out(tensor: torch.Tensor, out: Tensors) -> Tensors:
    for number, one in enumerate(out):
        _check_output(number, one)
        if one.shape != tensor.shape:
            raise RuntimeError(
                f"Expected all output tensors to have same shape as the source tensor {list(tensor.shape)}, but output "
                f"tensor at index {number} has shape {list(one.shape)}"
            )
    for one in out:
        one.copy_(tensor, non_blocking=True)
    return out


def broadcast_coalesced(tensors: Tensors, devices: Sequence[int], buffer_size: int = 0) -> list[list[torch.Tensor]]:
    """The tensors themselves for the first device, detached copies for the others."""
    if any(tensor.get_device() != devices[0] for tensor in tensors):
        raise RuntimeError(f"All tensors must be on devices[0]: {devices[0]}")
    copies = [[move(tensor.detach(), _accelerator(index)) for tensor in tensors] for index in devices[1:]]
    return [list(tensors), *copies]


def scatter(
    tensor: torch.Tensor,
    devices: Sequence[int],
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Sequence[Any] | None = None,
) -> list[torch.Tensor]:
    """A part of `tensor` for each device, a view where it is there already."""
    if not devices:
        raise RuntimeError("Expected at least one device to scatter to")
    if chunk_sizes is not None and len(chunk_sizes) != len(devices):
        raise RuntimeError(
            "Expected devices and chunk_sizes to be of same length, but got "
            f"len(devices) = {len(devices)} and len(chunk_sizes) = {len(chunk_sizes)}"
        )
    split = tensor.chunk(len(devices), dim) if chunk_sizes is None else tensor.split_with_sizes(list(chunk_sizes), dim)
    own = tensor.get_device()
    chunks = list(split)
    for number, chunk in enumerate(chunks):
        index = devices[number]
        if index == own:
            continue
        _check_stream(streams, number, index)
        if index < 0:
            raise RuntimeError(f"Expected non-negative device index, but got {index}")
        chunks[number] = move(chunk, _accelerator(index), non_blocking=True)
    return chunks


def scatter_out(tensor: torch.Tensor, out: Tensors, dim: int = 0, streams: Sequence[Any] | None = None) -> Tensors:
    if not out:
        raise RuntimeError("Expected at least one output tensor to scatter to")
    dim = _wrapped(dim, tensor)
    source = list(tensor.shape)
    sizes = []
    for number, one in enumerate(out):
        _check_output(number, one)
        shape = list(one.shape)
        if len(shape) == len(source):
            sizes.append(shape[dim])
            shape[dim] = source[dim]
        if shape != source:
            raise RuntimeError(
                f"Output tensor at index {number} has incorrect shape: {list(one.shape)}. Expected same shape except "
                f"for scatter dim {dim} as the source tensor: {source}"
            )
    if sum(sizes) != source[dim]:
        raise RuntimeError(
            f"Total size for output tensors along scatter dim {dim} does not match the source tensor size at dim {dim}."
            f" Expected {source[dim]}, but got total size {sum(sizes)}"
        )
    for number, (one, chunk) in enumerate(zip(out, tensor.split_with_sizes(sizes, dim), strict=True)):
        _check_stream(streams, number, one.get_device())
        one.copy_(chunk, non_blocking=True)
    return out


def gather(tensors: Tensors, dim: int, destination_index: int | None = None) -> torch.Tensor:
    """The tensors one behind the other on one device; -1 is the CPU, None the current accelerator."""
    expected = _gathered_shape(tensors, dim, "")
    recorder = simulation().recorder
    if recorder is not None and all(tensor.shape == (1,) for tensor in tensors):
        recorder.scalars_gathered()
    on_the_cpu = destination_index == -1
    device = CPU if on_the_cpu else torch.device(simulation().kind, destination_index)
    made = torch.empty(expected, dtype=tensors[0].dtype, device=device)
    return _gather_into(tensors, made, dim)


def gather_out(tensors: Tensors, out: torch.Tensor, dim: int) -> torch.Tensor:
    expected = _gathered_shape(tensors, dim, "'")
    if list(out.shape) != expected:
        raise RuntimeError(f"Expected out tensor to have shape {expected}, but got {list(out.shape)}")
    return _gather_into(tensors, out, dim)


def _gathered_shape(tensors: Tensors, dim: int, quote: str) -> list[int]:
    if not tensors:
        raise RuntimeError("Expected at least one tensor to gather from")
    expected = list(tensors[0].shape)
    dim = _wrapped(dim, tensors[0])
    total = 0
    for number, tensor in enumerate(tensors):
        device = device_of(tensor)
        if not simulation().is_simulated(device):
            raise RuntimeError(
                f"Expected all input tensors to be CUDA tensors, but tensor at index {number} has device "
                f"{quote}{device}{quote}"
            )
        if tensor.dim() != len(expected):
            raise RuntimeError(
                "Expected all input tensors to have the same number of dimensions, but tensor at index "
                f"{number}{' ' if quote else ''}has {tensor.dim()} dimensions, (expected {len(expected)})"
            )
        expected[dim] = tensor.shape[dim]
        if list(tensor.shape) != expected:
            raise RuntimeError(
                f"Input tensor at index {number} has invalid shape {list(tensor.shape)}, but expected {expected}"
            )
        total += tensor.shape[dim]
    expected[dim] = total
    return expected


def _gather_into(tensors: Tensors, out: torch.Tensor, dim: int) -> torch.Tensor:
    chunks = out.split_with_sizes([tensor.shape[dim] for tensor in tensors], dim)
    for chunk, tensor in zip(chunks, tensors, strict=True):
        chunk.copy_(tensor, non_blocking=out.get_device() != -1)
    return out


def _check_output(number: int, tensor: torch.Tensor) -> None:
    if not simulation().is_simulated(device_of(tensor)):
        raise RuntimeError(
            f"Expected all output tensors to be CUDA tensors, but output tensor at index {number} has device "
            f"'{device_of(tensor)}'"
        )


def _check_stream(streams: Sequence[Any] | None, number: int, index: int) -> None:
    stream = streams[number] if streams is not None and number < len(streams) else None
    if stream is not None and stream.device_index != index:
        raise RuntimeError(
            f"Expected the device associated with the stream at index {number} (was {stream.device_index}) to match "
            f"the device supplied at that index (expected {index})"
        )


def _wrapped(dim: int, tensor: torch.Tensor) -> int:
    """`at::maybe_wrap_dim`, with its error."""
    rank: int = max(tensor.dim(), 1)
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    return dim % rank


def _accelerator(index: int) -> torch.device:
    active = simulation()
    return active.resolve(torch.device(active.kind, index))


def _nccl_is_available(tensors: Any) -> bool:
    """Copies and sums do not go through NCCL; the results are the same."""
    return False


def patches() -> Iterator[Patch]:
    """What replaces functions of `torch._C` and of `torch.cuda.nccl`."""
    for function in (broadcast, broadcast_out, broadcast_coalesced, scatter, scatter_out, gather, gather_out):
        yield torch._C, f"_{function.__name__}", function
    yield importlib.import_module("torch.nn.parallel._functions"), "_streams", None  # made once, for all accelerators
    if simulation().flat:
        yield torch.nn.DataParallel, "forward", lambda self, *inputs, **kwargs: self.module(*inputs, **kwargs)
    nccl = torch.cuda.nccl
    yield nccl, "is_available", _nccl_is_available
    yield nccl, "version", lambda: _NCCL
    for name in ("all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "init_rank", "unique_id"):
        yield nccl, name, refusing(f"torch.cuda.nccl.{name}")
