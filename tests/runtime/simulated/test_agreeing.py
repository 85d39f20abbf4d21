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
from torchdevlint.runtime.simulated.tensors.agreeing import CELLS, ELEMENTWISE, FUNCTIONS, VIEWS
from torchdevlint.runtime.simulated.tensors.claims import claim_of
from torchdevlint.runtime.simulated.tensors.indices import indices_in
from torchdevlint.runtime.simulated.tensors.mode import PlacementMode


def _operands(name: str, device: str) -> tuple[Any, ...]:
    tensor = torch.rand(3, 4, generator=torch.Generator().manual_seed(0)).to(device)
    if name.endswith("where"):
        return (tensor > 0.5, tensor, tensor + 1) if name == "torch.where" else (tensor, tensor > 0.5, tensor + 1)
    name = name.removeprefix("torch.")
    if name == "clamp":
        return tensor, 0.25, 0.5
    binary = ("add", "sub", "mul", "div", "gt", "ge", "lt", "le", "ne", "eq", "maximum", "minimum", "pow")
    return (tensor, tensor + 1) if ELEMENTWISE[name].removesuffix("_") in binary else (tensor,)


def _elementwise(name: str, device: str) -> Any:
    owner, _, method = name.rpartition(".")
    return getattr(torch if owner else torch.Tensor, method)(*_operands(name, device))


_SIZES: dict[str, tuple[Any, ...]] = {
    "view": (4, 3), "reshape": ((2, 6),), "transpose": (0, 1), "permute": (1, 0), "unsqueeze": (0,),
    "expand": (2, 3, 4), "select": (0, 1), "narrow": (1, 1, 2), "chunk": (2,),
}


def _viewed(name: str, device: str) -> Any:
    tensor = torch.arange(12.0).to(device).view(3, 4)
    sizes = (tensor + 1,) if name.endswith("_as") else _SIZES.get(name, ())
    made = getattr(tensor, name)(*sizes)
    return (*(made if isinstance(made, (tuple, list)) else (made,)), tensor.t().reshape(-1))


def _indexed(device: str) -> Any:
    table, rows = torch.arange(12.0, device=device).view(3, 4), torch.tensor([2, 0], device=device)
    mixed = (table[1], table[:, 1:3], table[..., None, 0], table[rows], table[rows, 1], table[rows, 1:], table[1, 2])
    return (*mixed, table[table > 4], table[table[:, 0] > 1, 1:], table[[0, 2]], table[True], table[rows[0]])


def _assigned(device: str) -> Any:
    table, rows = torch.zeros(3, 4, device=device), torch.tensor([2, 0], device=device)
    table[rows] = torch.ones(2, 4, device=device)
    table[table > 0] = 3.0
    table[rows, 1] = table[1, 1]
    table[rows[0]] = 7.0
    return table


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
    **{f"torch.{name}": lambda device, name=name: _elementwise(f"torch.{name}", device) for name in FUNCTIONS},
    **{f".{name}": lambda device, name=name: _viewed(name, device) for name in VIEWS},
    "[..]": _indexed,
    "[rows] =": _assigned,
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
        tensor.cumsum(0)
        with pytest.raises(RuntimeError, match="The size of tensor"):
            tensor + torch.ones(3, device="cuda")
        seen.clear()
        tensor.cumsum(0)
        assert len(seen) == 1


def test_masks_wait_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    def waits() -> dict[str, int]:
        recorder = Recorder()
        with simulate(1, recorder=recorder):
            table = torch.zeros(4, device="cuda")
            table[table > 1]
            table[table > 1] = 2.0
            table.cpu()[torch.tensor([True] * 4)]
            table[torch.tensor([1], device="cuda")]
        return {operation: count for (_, operation), (_, count) in recorder.syncs.items()}

    short = waits()
    _long(monkeypatch)
    assert short == waits()
    assert short["index"] == 1


def test_c_takes_a_tensor_for_no_sequence() -> None:
    with simulate(1):

        class Below(torch.Tensor): ...

        class Own(torch.Tensor):
            def __getitem__(self, index: Any) -> Any:
                return super().__getitem__(index)

        for kind in (torch.Tensor, torch.nn.Parameter, Below):
            one = torch.ones(3).as_subclass(kind)[0]  # type: ignore[arg-type]
            assert torch.tensor([one.detach(), one.detach()]).tolist() == [1.0, 1.0]
        assert torch.ones(3).as_subclass(Own)[1:].shape == (2,)
    assert "__getitem__" not in vars(torch.Tensor)
    assert torch.tensor([torch.ones(3).as_subclass(Below)[0]]).tolist() == [1.0]


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


@pytest.mark.parametrize(
    ("index", "tensors"),
    [(slice(0, 2), ()), (slice(None), ()), ((0, slice(1, None)), ()), (slice(None, torch.tensor(2)), None)],
)
def test_numbers_that_are_tensors_are_left_to_the_mode(index: Any, tensors: Any) -> None:
    assert indices_in(index) == tensors
