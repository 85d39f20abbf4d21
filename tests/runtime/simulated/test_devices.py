"""`torch.device` takes a number, and stays the class it was for everything else."""

from __future__ import annotations

import copy
import functools
import io
import pickle
import re
import typing
from collections.abc import Iterator

import pytest
import torch

from torchdevlint.runtime.simulated import install, simulate, uninstall

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
    assert type(device) is torch.device is REAL
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
    """What the build itself says: a CPU build of today refuses, one for CUDA (or of torch 2.4) names a device."""
    with simulate(0):
        try:
            genuine = REAL(0)
        except RuntimeError as error:
            with pytest.raises(RuntimeError, match=re.escape(str(error))):
                torch.device(0)
        else:
            assert torch.device(0) == genuine


def test_the_constructor_is_given_back() -> None:
    genuine = vars(REAL)["__new__"]
    uninstall()
    try:
        assert vars(REAL)["__new__"] is not genuine
        assert repr(vars(REAL)["__new__"]).startswith("<built-in method")
        assert str(REAL("cpu")) == "cpu"
    finally:
        install(2)


def test_it_is_a_context() -> None:
    with torch.device(1):
        assert torch.zeros(1).device == torch.device("cuda:1")
