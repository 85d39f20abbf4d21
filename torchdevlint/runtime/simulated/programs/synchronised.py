"""The kernels of `torch.nn.SyncBatchNorm`, which exist only for accelerators, as ordinary tensor operations.

What each computes: aten/src/ATen/native/cuda/Normalization.cu.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from torchdevlint.runtime.simulated.patches import Patch


def batch_norm_stats(given: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    wide = _wide(given)
    variance, mean = torch.var_mean(wide, _others(given), correction=0)
    return mean, torch.rsqrt(variance + eps)


def batch_norm_gather_stats_with_counts(
    given: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """Mean and inverse deviation over all processes; the running statistics are updated."""
    weights = counts.to(mean.dtype).view(-1, 1)
    total = weights.sum()
    joint = (mean * weights).sum(0) / total
    variances = 1.0 / (invstd * invstd) - eps
    squares = ((variances + (mean - joint) ** 2) * weights).sum(0)
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(joint.to(running_mean.dtype) * momentum)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_((squares / (total - 1)).to(running_var.dtype) * momentum)
    return joint, torch.rsqrt(squares / total + eps)


def batch_norm_elemt(
    given: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float
) -> Tensor:
    made = (_wide(given) - _channels(mean, given)) * _channels(invstd, given)
    if weight is not None:
        made = made * _channels(weight, given)
    if bias is not None:
        made = made + _channels(bias, given)
    return made.to(given.dtype)


def batch_norm_backward_reduce(
    grad_out: Tensor,
    given: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    gradient = _wide(grad_out)
    sum_dy = gradient.sum(_others(given))
    sum_dy_xmu = (gradient * (_wide(given) - _channels(mean, given))).sum(_others(given))
    dtype = sum_dy.dtype if weight is None else weight.dtype
    return (
        sum_dy if input_g else None,
        sum_dy_xmu if input_g else None,
        (sum_dy_xmu * invstd).to(dtype) if weight_g else None,
        sum_dy.to(dtype) if bias_g else None,
    )


def batch_norm_backward_elemt(
    grad_out: Tensor,
    given: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    total = count.sum()
    projection = sum_dy_xmu / total * invstd * invstd
    scale = invstd if weight is None else invstd * weight
    centred = _wide(given) - _channels(mean, given)
    made = _wide(grad_out) - _channels(sum_dy / total, given) - centred * _channels(projection, given)
    return (made * _channels(scale, given)).to(given.dtype)


def _wide(tensor: Tensor) -> Tensor:
    """Halves are accumulated in float32."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _others(tensor: Tensor) -> list[int]:
    return [dim for dim in range(tensor.dim()) if dim != 1]


def _channels(values: Tensor, like: Tensor) -> Tensor:
    return values.view([1, -1] + [1] * (like.dim() - 2))


def patches() -> Iterator[Patch]:
    for function in (
        batch_norm_stats,
        batch_norm_gather_stats_with_counts,
        batch_norm_elemt,
        batch_norm_backward_reduce,
        batch_norm_backward_elemt,
    ):
        yield torch, function.__name__, function
