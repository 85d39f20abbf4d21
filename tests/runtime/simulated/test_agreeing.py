"""The short way around the dispatch mode and the mode itself say the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from torchdevlint.runtime.record.recorder import Recorder
from torchdevlint.runtime.record.sites import site_of
from torchdevlint.runtime.simulated import simulate
from torchdevlint.runtime.simulated.tensors import agreeing
from torchdevlint.runtime.simulated.tensors.agreeing import CELLS, ELEMENTWISE
from torchdevlint.runtime.simulated.tensors.claims import claim_of
from torchdevlint.runtime.simulated.tensors.mode import PlacementMode


def _operands(name: str, device: str) -> tuple[Any, ...]:
    tensor = torch.rand(3, 4, generator=torch.Generator().manual_seed(0)).to(device)
    if name == "clamp":
        return tensor, 0.25, 0.5
    binary = ("add", "sub", "mul", "div", "gt", "ge", "lt", "le", "ne", "eq")
    return (tensor, tensor + 1) if ELEMENTWISE[name].removesuffix("_") in binary else (tensor,)


def _elementwise(name: str, device: str) -> Any:
    return getattr(torch.Tensor, name)(*_operands(name, device))


def _cell(name: str, device: str) -> Any:
    gates = {"lstm_cell": 4, "gru_cell": 3}.get(name, 1)
    state = torch.ones(2, 4, device=device)
    given: Any = (state, state * 2) if name == "lstm_cell" else state
    weight = torch.ones(gates * 4, 4, device=device, requires_grad=True)
    return getattr(torch, name)(state, given, weight, weight)


def _linear(device: str) -> Any:
    return torch.nn.functional.linear(torch.ones(2, 4, device=device), torch.ones(3, 4, device=device))


def _written(device: str) -> Any:
    table = torch.zeros(3, 4, device=device)
    table[1, 1:3] = torch.ones(2, device=device)
    table[2] = 7.0
    return table


PROGRAMS: dict[str, Callable[[str], Any]] = {
    **{name: lambda device, name=name: _elementwise(name, device) for name in ELEMENTWISE},
    **{name: lambda device, name=name: _cell(name, device) for name in CELLS},
    "linear": _linear,
    "[..] =": _written,
}


def _told(made: Any) -> list[tuple[Any, ...]]:
    told = []
    for one in made if isinstance(made, tuple) else (made,):
        claim = claim_of(one)
        lines = claim and (site_of(claim.created), claim.moved)
        told.append((one.detach().tolist(), one.requires_grad, one.device, lines))
    return told


def _long(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on every call takes the long way."""
    monkeypatch.setattr(agreeing, "_modes", lambda: 0)


@pytest.mark.parametrize("device", ["cpu", "cuda:1"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_both_ways_give_the_same_values_places_and_lines(
    name: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with simulate(2):
        short = _told(PROGRAMS[name](device))
        _long(monkeypatch)
        assert short == _told(PROGRAMS[name](device))


@pytest.mark.parametrize("place", ["cuda:0", "cpu"])
@pytest.mark.parametrize("name", ["__add__", "mul_", "linear", "rnn_tanh_cell"])
def test_what_does_not_agree_is_refused_both_ways(name: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusal() -> str:
        here, there = torch.ones(4, 4, device="cuda:1"), torch.ones(4, 4, device=place)
        function = getattr(torch.Tensor, name, None) or getattr(torch._VF, name, torch.nn.functional.linear)
        operands = (here, here, here, there) if name.endswith("cell") else (here, there)
        with pytest.raises(RuntimeError, match="same device") as raised:
            function(*operands)
        return str(raised.value)

    with simulate(2):
        short = refusal()
        _long(monkeypatch)
        assert short == refusal()


@pytest.mark.skipif(agreeing._hooks_on_saved is None, reason="before 2.5 the mode sees every call")
def test_the_mode_is_left_out_where_operands_agree_and_asked_again_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []
    dispatch = PlacementMode.__torch_dispatch__

    def counted(self: Any, func: Any, *rest: Any) -> Any:
        seen.append(func)
        return dispatch(self, func, *rest)

    monkeypatch.setattr(PlacementMode, "__torch_dispatch__", counted)
    with simulate(1):
        tensor = torch.ones(4, 4, device="cuda")
        seen.clear()
        doubled = tensor + tensor
        doubled[0] = 1.0
        assert seen == []
        tensor.cos()
        with pytest.raises(RuntimeError, match="The size of tensor"):
            tensor + torch.ones(3, device="cuda")
        seen.clear()
        tensor.cos()
        assert len(seen) == 1


def test_a_transfer_by_assignment_is_recorded() -> None:
    recorder = Recorder()
    with simulate(1, recorder=recorder):
        torch.zeros(4, device="cuda")[0:2] = torch.ones(2)
    assert [(source, target) for _, source, target in recorder.transfers] == [("cpu", "cuda:0")]


def test_hooks_on_saved_tensors_see_where_they_are_run() -> None:
    devices = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        devices.append((tensor * 2).cos().device)
        return tensor

    with simulate(1):
        leaf = torch.ones(2, device="cuda", requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            leaf * leaf
        assert {str(device) for device in devices} == {"cuda:0"}
