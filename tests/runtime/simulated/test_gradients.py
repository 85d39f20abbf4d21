"""Gradients are where the engine of autograd has them, also those that only C++ makes."""

from __future__ import annotations

import copy
import io
import warnings
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.hooks import unserializable_hook

from torchdevlint.runtime.simulated import simulate

pytestmark = pytest.mark.usefixtures("machine")
CPU, FIRST = torch.device("cpu"), torch.device("cuda:0")


class Two(torch.autograd.Function):  # type: ignore[misc]
    """Two outputs, each on a device; what `backward` gets is noted."""

    met: list[Any]

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, devices: list[str]) -> tuple[torch.Tensor, ...]:
        ctx.set_materialize_grads(len(devices) < 3)
        return tuple(x.to(device) * 2 for device in devices[:2])

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor | None, None]:
        Two.met = [None if one is None else str(one.device) for one in gradients]
        return gradients[0], None


class Current(torch.autograd.Function):  # type: ignore[misc]
    """What is the current GPU in `backward` is noted, and used."""

    met: int

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        Current.met = torch.cuda.current_device()
        return torch.full(gradient.shape, 3.0, device="cuda")


@pytest.mark.parametrize("index", [0, 1])
def test_the_engine_makes_the_gpu_of_a_gradient_the_current_one(index: int) -> None:
    """It runs a node with the stream of its first gradient, and gives the device back (engine.cpp)."""
    x = torch.ones(3, requires_grad=True, device=f"cuda:{index}")
    Current.apply(x).sum().backward()
    assert (Current.met, torch.cuda.current_device()) == (index, 0)
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("devices", [("cuda:0", "cuda:1"), ("cuda:0", "cpu"), ("cuda:1", "cuda:1")])
def test_a_gradient_that_nobody_computed_is_where_its_output_is(devices: tuple[str, str]) -> None:
    x = torch.ones(3, requires_grad=True, device=devices[0])
    first, _ = Two.apply(x, devices)
    first.sum().backward()
    assert Two.met == [str(x.device), devices[1]]
    first, _ = Two.apply(x, (*devices, "as it is"))
    first.sum().backward()
    assert Two.met == [str(x.device), None]


class Partly(nn.Module):  # type: ignore[misc]
    """One layer is used, one is frozen, one is left out; two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.used, self.frozen, self.unused = (nn.Linear(3, 3) for _ in range(3))
        self.frozen.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.used(x)
        return self.frozen(hidden), hidden * 2


def test_data_parallel_gathers_gradients_of_frozen_and_unused_parameters() -> None:
    plain = Partly()
    model = nn.DataParallel(copy.deepcopy(plain)).cuda()
    x = torch.rand(6, 3)
    for net, given in ((plain, x), (model, x.cuda())):
        given.requires_grad_()
        net(given)[0][:2].sum().backward()  # nothing of the second replica, nor of the second output
    weight = model.module.used.weight
    assert weight.grad.device == FIRST
    assert torch.allclose(weight.grad.cpu(), plain.used.weight.grad)


def scaled(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return x * scale


def filled(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return x.clone().fill_(scale)


def chosen(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, scale, x)


def assigned(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    out[:] = scale
    return out


@pytest.mark.parametrize("use", [scaled, filled, chosen, assigned])
def test_the_gradient_of_a_scalar_on_the_cpu_returns_to_it(use: Any) -> None:
    x = torch.ones(3, device="cuda")
    scale = torch.tensor(2.0, requires_grad=True)
    met: list[torch.device] = []
    scale.register_hook(unserializable_hook(lambda gradient: met.append(gradient.device)))
    optimizer = torch.optim.SGD([scale], 1.0)
    for step in (-1.0, -4.0):
        optimizer.zero_grad()
        use(x, scale).sum().backward()
        optimizer.step()
        assert scale.item() == step
    assert met == [CPU, CPU]
    weight = torch.ones(4, requires_grad=True)
    (gradient,) = torch.autograd.grad(use(x, weight.pow(2).sum()).sum(), weight, create_graph=True)
    assert (gradient.device, gradient.tolist(), gradient.requires_grad) == (CPU, [6.0] * 4, True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.save(scale, io.BytesIO())  # hooks are not saved, which torch warns of: not of ours


def test_what_an_assignment_brings_to_the_cpu_goes_back() -> None:
    layer = nn.Linear(3, 3).cuda()
    rows = torch.zeros(2, 3)
    for row in range(2):
        rows[row].copy_(layer(torch.ones(3, device="cuda")))
    rows.sum().backward()
    assert layer.weight.grad.device == FIRST
    weight = torch.ones(3, requires_grad=True)
    out = torch.zeros(3, device="cuda")
    out.copy_(weight)
    out.sum().backward()
    assert (weight.grad.device, weight.grad.tolist()) == (CPU, [1.0] * 3)


def test_undefined_gradients_come_back_as_they_are() -> None:
    def of(x: torch.Tensor) -> torch.Tensor:
        first, second = x.unbind()
        one = torch.tensor(1.0, dtype=x.dtype)
        return torch.stack([first * one, one - second * second])

    x = torch.tensor([0.5, 1.0], dtype=torch.float64, device=FIRST, requires_grad=True)
    assert torch.autograd.gradcheck(of, (x,))
    scale = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    on_the_first = torch.ones(3, dtype=torch.float64, device=FIRST)
    assert torch.autograd.gradcheck(lambda scale: scale * on_the_first, (scale,))


@pytest.mark.parametrize("read", [False, True])
def test_a_gradient_stays_when_only_the_data_of_its_tensor_moves(read: bool) -> None:
    """Whether anybody has read it before does not matter: backward has left it where the tensor was."""
    with simulate(1):
        weight = torch.nn.Parameter(torch.ones(2))
        weight.sum().backward()
        assert not read or weight.grad is not None
        weight.data = weight.data.to("cuda")
        assert (str(weight.device), str(weight.grad.device)) == ("cuda:0", "cpu")
        with pytest.raises(RuntimeError, match="found at least two devices"):
            torch.optim.SGD([weight], lr=0.1).step()
        layer = torch.nn.Linear(2, 1)
        layer(torch.ones(1, 2)).sum().backward()
        layer.to("cuda")
        assert str(layer.weight.grad.device) == "cuda:0"
        torch.optim.SGD(layer.parameters(), lr=0.1).step()


def test_data_of_other_tensors_is_set_as_before() -> None:
    class Kept(torch.Tensor):
        pass

    with simulate(1):
        for made in (torch.ones(2).as_subclass(Kept), torch.ones(2, device="cuda"), torch.ones(2)):
            made.data = torch.zeros(2, device=made.device)
            assert made.tolist() == [0.0, 0.0]
            assert made.data.device == made.device
