"""Autocast of an accelerator whose kernels run on the CPU."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator

import pytest
import torch

from tests.runtime.simulated.support import machine


@pytest.fixture(autouse=True)
def _machine() -> Iterator[None]:
    with machine():
        yield


def product() -> torch.dtype:
    return torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype


def switches() -> tuple[bool, bool]:
    return torch.is_autocast_enabled("cuda"), torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_kernels_run_in_the_type(dtype: torch.dtype) -> None:
    with torch.autocast("cuda", dtype=dtype):
        assert product() is dtype
        assert switches() == (True, False)
        assert torch.is_autocast_enabled()
        assert torch.get_autocast_dtype("cuda") is dtype
        assert torch.get_autocast_dtype("cpu") is torch.bfloat16
    assert product() is torch.float32
    assert switches() == (False, False)


def test_default_type_is_half() -> None:
    with torch.autocast("cuda"):
        assert product() is torch.float16


def test_switched_off_inside() -> None:
    with torch.autocast("cuda"):
        with torch.autocast("cuda", enabled=False):
            assert product() is torch.float32
        assert product() is torch.float16


@pytest.mark.parametrize("outer", ["cpu", "cuda"])
def test_both_kinds_at_once(outer: str) -> None:
    inner = "cuda" if outer == "cpu" else "cpu"
    with torch.autocast(outer), torch.autocast(inner):
        assert switches() == (True, True)
        assert torch.get_autocast_dtype("cpu") is torch.bfloat16
    assert switches() == (False, False)
    with torch.autocast("cpu"):
        with torch.autocast("cuda"):
            pass
        assert product() is torch.bfloat16
    assert product() is torch.float32


def test_other_threads_are_not_affected() -> None:
    found = []
    with torch.autocast("cuda"):
        thread = threading.Thread(target=lambda: found.append((product(), switches())))
        thread.start()
        thread.join()
    assert found == [(torch.float32, (False, False))]


def test_after_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), torch.autocast("cuda"):
        1 / 0  # noqa: B018
    assert product() is torch.float32


def test_older_names() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.cuda.amp.autocast(dtype=torch.bfloat16):
            assert torch.get_autocast_gpu_dtype() is torch.bfloat16
            assert not torch.is_autocast_cpu_enabled()
            assert product() is torch.bfloat16
        with torch.cpu.amp.autocast():
            assert torch.is_autocast_cpu_enabled()
            assert not torch.is_autocast_enabled()


def test_decorated_function() -> None:
    @torch.autocast("cuda")
    def compute() -> torch.dtype:
        return product()

    assert compute() is torch.float16


def test_autograd_function_with_custom_forward() -> None:
    class Function(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda")
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            return x @ x

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(ctx, grad):  # type: ignore[no-untyped-def]
            assert switches() == (True, False)
            return grad @ grad

    x = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cuda"):
        y = Function.apply(x)
    assert y.dtype is torch.float16
    y.sum().backward()


def test_without_an_accelerator_it_switches_itself_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with machine(), pytest.warns(UserWarning, match="CUDA is not available"), torch.autocast("cuda"):
        assert product() is torch.float32


def test_simulation_that_ends_or_begins_inside() -> None:
    with torch.autocast("cuda"):
        with machine(1):
            assert switches() == (True, False)
            assert product() is torch.float16
        assert switches() == (True, False)
        assert product() is torch.float16
    assert product() is torch.float32
    assert switches() == (False, False)
