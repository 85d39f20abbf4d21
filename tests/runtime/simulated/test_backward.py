"""Backward passes past the dispatch mode: what a program sees of them is the same as through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from torchdevlint.runtime.simulated import simulate
from torchdevlint.runtime.simulated.tensors import agreeing
from torchdevlint.runtime.simulated.tensors.mode import PlacementMode

pytestmark = pytest.mark.skipif(
    not hasattr(torch.autograd.graph, "_engine_run_backward"), reason="this release calls the engine elsewhere"
)


class Doubled(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        return tensor * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        SEEN.append(("function", gradient.device, (gradient * 2).cos().device))
        return gradient * 2


SEEN: list[Any] = []


def _see(name: str) -> Callable[[torch.Tensor], None]:
    def hook(tensor: torch.Tensor) -> None:
        given = tensor.grad if name == "accumulated" else tensor
        assert given is not None
        SEEN.append((name, given.device, (given * 2).cos().device))

    return hook


def _leaves(device: str) -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).to(device)
    model(torch.ones(2, 3, device=device)).sum().backward()
    return [parameter.grad for parameter in model.parameters()]


def _returned(device: str) -> Any:
    first, second = torch.ones(2, 3, device=device, requires_grad=True), torch.ones(3, device=device)
    return torch.autograd.grad((first.sin() * second).sum(), [first])


def _watched(device: str) -> Any:
    leaf = torch.ones(3, device=device, requires_grad=True)
    leaf.register_hook(_see("hook"))
    leaf.register_post_accumulate_grad_hook(_see("accumulated"))
    middle = Doubled.apply(leaf.exp())
    middle.register_hook(_see("middle"))
    middle.retain_grad()
    (middle * 3).sum().backward()
    return [leaf.grad, middle.grad]


def _moved(device: str) -> Any:
    leaf = torch.ones(3, requires_grad=True)
    (leaf.to(device) * 2).cos().sum().backward()
    return [leaf.grad]


def _sparse(device: str) -> Any:
    table = torch.nn.Embedding(5, 2, sparse=True).to(device)
    table(torch.tensor([1, 3], device=device)).sum().backward()
    assert table.weight.grad is not None
    return [table.weight.grad, table.weight.grad.coalesce().values()]


def _full_hooks(device: str) -> Any:
    layer = torch.nn.Linear(3, 2).to(device)
    layer.register_full_backward_hook(lambda module, given, made: _see("full")(made[0]))
    layer(torch.ones(2, 3, device=device, requires_grad=True)).sum().backward()
    return [layer.weight.grad]


def _hook_of_a_node(device: str) -> Any:
    leaf = torch.ones(3, device=device, requires_grad=True)
    made = leaf.exp()
    assert made.grad_fn is not None
    made.grad_fn.register_prehook(lambda gradients: _see("node")(gradients[0]))
    made.sum().backward()
    return [leaf.grad]


def _checkpointed(device: str) -> Any:
    def block(tensor: torch.Tensor) -> torch.Tensor:
        made = tensor.exp()
        SEEN.append(("checkpoint", made.device, made.tan().device))
        return made.cos()

    leaf = torch.ones(3, device=device, requires_grad=True)
    for reentrant in (True, False):
        checkpoint(block, leaf.sin(), use_reentrant=reentrant).sum().backward()
    return [leaf.grad]


PROGRAMS = [_checkpointed, _leaves, _returned, _watched, _moved, _sparse, _full_hooks, _hook_of_a_node]


@pytest.mark.parametrize("device", ["cpu", "cuda:1"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_both_ways_show_the_same(program: Callable[[str], Any], device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> Any:
        SEEN.clear()
        torch.manual_seed(0)
        gradients = program(device)
        return [(one.to_dense().tolist(), one.device) for one in gradients], list(SEEN)

    with simulate(2):
        short = told()
        monkeypatch.setattr(agreeing, "_modes", lambda: 0)
        assert short == told()
        assert all(str(place) == ("cpu" if program is _moved else device) for _, place in short[0])


@pytest.mark.skipif(agreeing._hooks_on_saved is None, reason="before 2.5 the mode sees every call")
def test_the_mode_is_left_out_until_something_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    dispatch = PlacementMode.__torch_dispatch__

    def counted(self: Any, func: Any, *rest: Any) -> Any:
        seen.append(func)
        return dispatch(self, func, *rest)

    monkeypatch.setattr(PlacementMode, "__torch_dispatch__", counted)

    def through_the_mode(loss: torch.Tensor) -> int:
        seen.clear()
        loss.backward()
        return len(seen) - 1  # the first gradient is made before the engine is called

    with simulate(2) as simulation:
        leaf = torch.ones(3, device="cuda", requires_grad=True)
        assert through_the_mode(leaf.cos().sum()) == 0
        assert through_the_mode((leaf * torch.tensor(2.0)).sum()) > 0
        simulation.graphs_differ = False
        assert through_the_mode(leaf.cos().sum()) == 0
        torch.cuda.max_memory_allocated()
        assert through_the_mode(leaf.cos().sum()) > 0


def test_a_gradient_is_refused_as_before() -> None:
    class Elsewhere(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
            return tensor * 2

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            return gradient.cpu()

    with simulate(1):
        leaf = torch.ones(3, device="cuda", requires_grad=True)
        with pytest.raises(RuntimeError, match="invalid gradient at index 0 - expected device cuda:0 but got cpu"):
            Elsewhere.apply(leaf).sum().backward()
        with pytest.raises(RuntimeError, match="same device"):  # the mode is back
            leaf.cos() + torch.ones(3)
