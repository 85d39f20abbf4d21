"""`torch.device` takes a number, and stays the class it was for everything else."""

from __future__ import annotations

import copy
import functools
import io
import pickle
import typing
from collections.abc import Iterator

import pytest
import torch

from torchdevlint.runtime.simulated import simulate

REAL = torch.device


@pytest.fixture(autouse=True)
def two() -> Iterator[None]:
    with simulate(2):
        yield


def test_a_number_is_an_accelerator() -> None:
    assert torch.device(1) == torch.device("cuda", 1) == torch.device(device=1)
    assert type(torch.device(1)) is REAL


def test_other_arguments_mean_what_they_did() -> None:
    assert str(torch.device("cuda:1")) == "cuda:1"
    assert str(torch.device(type="cuda", index=0)) == "cuda:0"
    with pytest.raises(RuntimeError, match="Device index must not be negative"):
        torch.device(-1)
    with pytest.raises(TypeError):
        torch.device(True)


def test_it_is_the_real_type_to_those_who_ask() -> None:
    device = torch.device(0)
    assert isinstance(device, torch.device)
    assert type(device) == torch.device  # noqa: E721
    assert issubclass(REAL, torch.device)
    assert {REAL: 1}[torch.device] == {torch.device: 1}[REAL] == 1
    assert not isinstance("cuda", torch.device)
    assert torch.device.__name__ == "device"
    assert str(typing.Optional[torch.device]) == "typing.Optional[torch.device]"  # noqa: UP045

    @functools.singledispatch
    def kind(_: object) -> str:
        return "object"

    kind.register(torch.device)(lambda _: "device")
    assert kind(device) == "device"


def test_objects_travel() -> None:
    device = torch.device(1)
    assert pickle.loads(pickle.dumps(device)) == copy.deepcopy(device) == device
    assert pickle.loads(pickle.dumps(torch.device)) is torch.device
    file = io.BytesIO()
    torch.save({"device": device}, file)
    file.seek(0)
    assert torch.load(file, weights_only=True) == {"device": device}


def test_a_machine_without_accelerators_has_none_to_number() -> None:
    with simulate(0), pytest.raises(RuntimeError, match="none is available"):
        torch.device(0)


def test_it_is_a_context() -> None:
    with torch.device(1):
        assert torch.zeros(1).device == torch.device("cuda:1")
