"""Entering and leaving a simulation: nothing is left behind, nesting works, threads are inside."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest
import torch

from torchdevlint.runtime.simulated import current, install, simulate, uninstall
from torchdevlint.runtime.simulated.patches import Patches
from torchdevlint.runtime.simulated.tensors.claims import ATTRIBUTE

OWNERS: tuple[Any, ...] = (
    torch,
    torch._C,
    torch._C._nn,
    torch.cuda,
    torch.xpu,
    torch.mps,
    torch.backends.cuda,
    torch.backends.cudnn,
    torch.backends.mps,
    *([torch.accelerator] if hasattr(torch, "accelerator") else []),  # since 2.6
    torch.amp,
    torch.fft,
    torch.jit,
    torch.random,
    torch.serialization,
    torch.storage,
    torch.Tensor,
    torch.UntypedStorage,
    torch.nn.Module,
    threading.Thread,
    torch.multiprocessing.reductions,
    torch.distributed,
    torch.distributed.distributed_c10d,
)


def attributes(owner: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(owner).items() if not isinstance(value, ModuleType)}


@pytest.mark.parametrize(
    ("count", "kind", "told"),
    [
        (1, "tpu", "unknown kind of accelerator 'tpu': one of cuda, xpu, mps"),
        (-1, "cuda", "cannot have -1 accelerators"),
        (2, "mps", "cannot have 2 accelerators of the kind mps: 0 to 1"),
    ],
)
def test_machines_that_there_are_not(count: int, kind: str, told: str) -> None:
    with pytest.raises(ValueError, match=told), simulate(count, kind):
        pass


def test_a_simulation_that_cannot_begin_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Patches) -> None:
        raise AttributeError("torch has changed")

    with monkeypatch.context() as patched:
        patched.setattr(Patches, "apply", broken)
        with pytest.raises(AttributeError, match="torch has changed"), simulate(1):
            pass
    assert current() is None
    assert torch.ones(1).device.type == "cpu"


@pytest.mark.parametrize(
    ("count", "kind"),
    [(0, "cuda"), (1, "cuda"), (2, "cuda"), (0, "xpu"), (1, "xpu"), (2, "xpu"), (0, "mps"), (1, "mps")],
)
def test_leaving_restores_every_attribute(count: int, kind: str) -> None:
    with simulate(1):  # what is imported lazily is imported now
        torch.nn.Linear(1, 1).cuda()
    before = [attributes(owner) for owner in OWNERS]
    with simulate(count, kind):
        if count:
            torch.zeros(1, device=kind)
            torch.manual_seed(0)
    for owner, saved in zip(OWNERS, before, strict=True):
        now = attributes(owner)
        assert sorted(now) == sorted(saved), owner
        changed = [name for name in saved if now[name] is not saved[name] and name not in COUNTERS]
        assert not changed, (owner, changed)


COUNTERS = {"_initialized", "_queued_calls", "__warningregistry__", "__annotations__"}
"""Plain values that torch itself writes anew."""


def test_an_exception_leaves_as_well() -> None:
    device = vars(torch.Tensor).get("device")
    with pytest.raises(ZeroDivisionError), simulate(1):
        _ = 1 / 0
    assert vars(torch.Tensor).get("device") is device
    assert current() is None


def test_the_constructors_of_torch_work_as_before_afterwards() -> None:
    with simulate(1):
        torch.Tensor([1.0])
    assert torch.Tensor([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert torch.Tensor(2, 3).shape == (2, 3)
    assert torch.UntypedStorage(3).nbytes() == 3
    assert torch.FloatTensor([1.0]).device.type == "cpu"
    assert torch.zeros(1).device.type == "cpu"


def test_a_simulation_inside_another_holds_until_it_ends() -> None:
    with simulate(2):
        outer = torch.zeros(1, device="cuda:1")
        with simulate(1):
            assert torch.cuda.device_count() == 1
            with pytest.raises(RuntimeError, match="invalid device ordinal"):
                torch.zeros(1, device="cuda:1")
            with simulate(0):
                assert not torch.cuda.is_available()
        assert torch.cuda.device_count() == 2
        assert outer.device == torch.device("cuda:1")
        assert (outer + 1).device == outer.device


def test_a_simulation_can_be_entered_again() -> None:
    for _ in range(3):
        with simulate(2):
            assert torch.ones(2, device="cuda").add(1).device.type == "cuda"


def test_install_and_uninstall_are_the_same_without_a_block() -> None:
    simulation = install(3)
    try:
        assert current() is simulation
        assert torch.cuda.device_count() == 3
    finally:
        uninstall()
    assert current() is None


@pytest.mark.parametrize(("count", "kind", "text"), [(-1, "cuda", "-1 accelerators"), (1, "tpu", "'tpu'")])
def test_a_machine_that_cannot_be_is_refused(count: int, kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        install(count, kind)
    assert current() is None


def test_without_accelerators_it_is_a_machine_with_a_cpu_build() -> None:
    with simulate(0):
        assert not torch.cuda.is_available()
        assert torch.cuda.device_count() == 0
        with pytest.raises((AssertionError, RuntimeError), match=r"not compiled with CUDA|NVIDIA driver"):
            torch.zeros(1).cuda()


def test_threads_are_inside_the_simulation() -> None:
    with simulate(2):
        weight = torch.ones(2, device="cuda:1")

        def work() -> str:
            with pytest.raises(RuntimeError, match="same device"):
                weight + torch.ones(2)
            return str((weight * 2).device)

        with ThreadPoolExecutor(2) as pool:
            assert [one.result() for one in [pool.submit(work), pool.submit(work)]] == ["cuda:1", "cuda:1"]
        seen: list[str] = []

        class Worker(threading.Thread):
            def run(self) -> None:
                seen.append(work())

        worker = Worker()
        worker.start()
        worker.join()
        assert seen == ["cuda:1"]


def test_a_claim_dies_with_its_bytes(machine: Any) -> None:
    gc.collect()
    before = torch.cuda.memory_allocated()
    tensor = torch.zeros(1000, device="cuda")
    view = tensor[10:]
    assert torch.cuda.memory_allocated() - before == 4096  # in blocks of 512 bytes, as CUDA's allocator counts
    del tensor
    assert torch.cuda.memory_allocated() - before == 4096
    assert view.device.type == "cuda"
    del view
    gc.collect()
    assert torch.cuda.memory_allocated() == before


def test_no_claim_is_left_by_a_training_step(machine: Any) -> None:
    gc.collect()
    before = torch.cuda.memory_allocated()

    def train() -> None:
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1)).cuda()
        optimizer = torch.optim.AdamW(net.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.rand(3, 4).cuda()).sum().backward()
            optimizer.step()

    train()
    gc.collect()
    assert torch.cuda.memory_allocated() == before


def test_addresses_that_are_used_again_carry_no_old_claim(machine: Any) -> None:
    for _ in range(200):
        torch.zeros(64, device="cuda")
        assert torch.zeros(64).device.type == "cpu"


def test_tensors_from_before_are_known_to_be_nowhere() -> None:
    before = torch.ones(2)
    with simulate(1):
        assert before.device.type == "cpu"
        together = before + torch.ones(2, device="cuda")
        assert together.device.type == "cuda"  # it makes no error
    assert getattr(before.untyped_storage(), ATTRIBUTE, None) is None


def test_tensors_outlive_their_simulation_as_what_they_are() -> None:
    with simulate(1):
        tensor = torch.ones(2, device="cuda")
    assert tensor.device.type == "cpu"
    assert (tensor + torch.ones(2)).tolist() == [2.0, 2.0]
