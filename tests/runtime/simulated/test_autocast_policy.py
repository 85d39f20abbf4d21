"""Results under the accelerator's autocast have the types that CUDA gives them; and training with scaled gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from torchdevlint.runtime.simulated import simulate

HALF, FLOAT, DOUBLE = torch.float16, torch.float32, torch.float64


def on_gpu(*shape: int, dtype: torch.dtype = HALF) -> torch.Tensor:
    return torch.ones(shape, device="cuda").to(dtype)


@pytest.mark.parametrize(
    ("compute", "dtype"),
    [
        (lambda x: x @ x, HALF),
        (lambda x: torch.mv(x.float(), x.float()[0]), HALF),
        (lambda x: torch.einsum("ij,jk->ik", x.float(), x), HALF),
        (lambda x: F.linear(x.float(), x.float()), HALF),
        (lambda x: F.conv1d(x.float()[None], x.float()[None]), HALF),
        (lambda x: x + x.float(), FLOAT),
        (F.relu, HALF),
        (lambda x: x.sigmoid(), HALF),
        (lambda x: x.exp(), FLOAT),
        (lambda x: x**2, FLOAT),
        (lambda x: 2**x, FLOAT),
        (lambda x: x.softmax(-1), FLOAT),
        (lambda x: x.softmax(-1, dtype=HALF), HALF),
        (lambda x: F.log_softmax(x, -1), FLOAT),
        (lambda x: F.layer_norm(x, (4,)), FLOAT),
        (lambda x: F.group_norm(x, 2), FLOAT),
        (lambda x: x.sum(), FLOAT),
        (lambda x: x.sum(0), FLOAT),
        (lambda x: x.sum(0, dtype=HALF), HALF),
        (lambda x: x.mean(), HALF),
        (lambda x: x.cumsum(0), FLOAT),
        (lambda x: x.prod(), FLOAT),
        (lambda x: x.norm(), FLOAT),
        (lambda x: x.norm(2, 1), FLOAT),
        (lambda x: torch.dist(x, x), FLOAT),
        (lambda x: torch.cdist(x, x), FLOAT),
        (lambda x: F.mse_loss(x, x), FLOAT),
        (lambda x: F.cross_entropy(x, torch.zeros(4, dtype=torch.long, device="cuda")), FLOAT),
        (lambda x: F.binary_cross_entropy_with_logits(x, x), FLOAT),
        (lambda x: torch.dot(x[0], x[0].float()), FLOAT),
        (lambda x: x.double().exp(), DOUBLE),
        (lambda x: nn.LSTM(4, 3).cuda()(x.float())[0], HALF),
        (lambda x: nn.GRU(4, 3).cuda()(x.float())[0], HALF),
        (lambda x: F.scaled_dot_product_attention(x[None].float(), x[None].float(), x[None].float()), HALF),
    ],
)
def test_types_of_results(compute: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype) -> None:
    with simulate(1), torch.autocast("cuda"):
        result = compute(on_gpu(4, 4))
        assert result.dtype is dtype
        assert result.device == torch.device("cuda:0")


def test_gradients_flow_through_the_kernels() -> None:
    with simulate(1):
        x = torch.ones(2, 2, device="cuda", requires_grad=True)
        with torch.autocast("cuda"):
            loss = (x @ x).exp().sum()
        loss.backward()
        assert x.grad is not None
        assert x.grad.dtype is FLOAT
        assert x.grad.device == torch.device("cuda:0")


def test_binary_cross_entropy_is_refused() -> None:
    with simulate(1), torch.autocast("cuda"):
        x = on_gpu(2, dtype=FLOAT)
        with pytest.raises(RuntimeError, match="are unsafe to autocast"):
            F.binary_cross_entropy(x, x)
        on_cpu = torch.ones(2, device="cpu")
        assert F.binary_cross_entropy(on_cpu, on_cpu).item() == 0


def test_autocast_of_the_cpu_keeps_its_own_lists() -> None:
    def types() -> list[torch.dtype]:
        with torch.autocast("cpu"):
            y = torch.ones(2, 2) @ torch.ones(2, 2)
            return [y.dtype, y.exp().dtype, y.sum().dtype, y.softmax(-1).dtype]

    before = types()
    with simulate(1):
        assert types() == before
        with torch.autocast("cuda"):
            on_gpu(2).exp()
        assert types() == before
        assert torch._C._dispatch_has_kernel_for_dispatch_key("aten::exp", "AutocastCPU")
    assert types() == before
    assert not torch._C._dispatch_has_kernel_for_dispatch_key("aten::exp", "AutocastCPU")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_training_with_scaled_gradients(dtype: torch.dtype) -> None:
    with simulate(2):
        model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 2)).cuda(1)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
        scaler = torch.amp.GradScaler("cuda", init_scale=8.0)
        torch.manual_seed(0)
        data, target = torch.randn(8, 4).cuda(1), torch.tensor([0, 1] * 4).cuda(1)
        losses = []
        for _ in range(8):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=dtype):
                loss = F.cross_entropy(model(data), target)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        assert losses[-1] < losses[0]
        assert scaler.get_scale() == 8.0
        assert scaler._scale.device == torch.device("cuda:1")


def test_infinite_gradients_skip_the_step() -> None:
    with simulate(1):
        weight = nn.Parameter(torch.ones(2, device="cuda"))
        optimizer = torch.optim.SGD([weight], lr=1.0)
        scaler = torch.amp.GradScaler("cuda", init_scale=8.0)
        scaler.scale((weight * float("inf")).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert weight.tolist() == [1.0, 1.0]
        assert scaler.get_scale() == 4.0


def test_autocast_across_simulations() -> None:
    def on_the_cpu() -> torch.dtype:
        return torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype

    with simulate(2):
        with torch.autocast("cuda"):
            with simulate(1):
                assert on_gpu(2).exp().dtype is FLOAT
            assert on_gpu(2).exp().dtype is FLOAT
        assert on_gpu(2).exp().dtype is HALF
    torch.set_autocast_enabled("cuda", True)  # `torch.autocast` would not, without CUDA
    try:
        with simulate(1):
            assert (on_gpu(2, 2, dtype=FLOAT) @ on_gpu(2, 2, dtype=FLOAT)).dtype is HALF
        assert on_the_cpu() is FLOAT
        assert not torch.is_autocast_enabled("cpu")
    finally:
        torch.set_autocast_enabled("cuda", False)
    assert on_the_cpu() is FLOAT
