"""DataParallel and the copies below it, on two simulated accelerators."""

from __future__ import annotations

import _thread
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel import comm

from torchdevlint.runtime.simulated import simulate


@pytest.fixture(autouse=True)
def two() -> Iterator[None]:
    with simulate(2):
        yield


class Net(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("seen", torch.zeros(()))
        self.calls = 0
        self.told: list[tuple[str, str, int, int]] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1  # torchdevlint: ignore[TDL402]
        self.seen += 1
        mask = torch.ones(len(x), 1).cuda()  # torchdevlint: ignore[TDL012]
        current = torch.cuda.current_device()
        self.told.append((str(x.device), str(mask.device), current, len(list(self.parameters()))))
        return self.norm(self.linear(x)) * mask


class Total(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.weight).sum()


def test_it_trains_and_gradients_are_summed_on_the_first_device() -> None:
    torch.manual_seed(0)
    plain = nn.Linear(3, 1)
    model = nn.DataParallel(nn.Linear(3, 1))
    model.module.load_state_dict(plain.state_dict())
    model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    reference = torch.optim.SGD(plain.parameters(), 0.1)
    for _ in range(3):
        x = torch.rand(8, 3)
        for net, steps in ((model, optimizer), (plain, reference)):
            steps.zero_grad()
            net(x).pow(2).mean().backward()
            steps.step()
    assert model.module.weight.grad.device == torch.device("cuda:0")
    assert torch.allclose(model.module.weight.cpu(), plain.weight, atol=1e-6)
    assert list(model.state_dict()) == ["module.weight", "module.bias"]


def test_a_replica_runs_on_its_own_device_and_what_it_writes_is_lost() -> None:
    model = nn.DataParallel(Net()).cuda()
    out = model(torch.rand(8, 3))
    assert out.device == torch.device("cuda:0")
    assert out.shape == (8, 4)
    assert sorted(model.module.told) == [("cuda:0", "cuda:0", 0, 0), ("cuda:1", "cuda:1", 1, 0)]
    assert model.module.calls == 0
    assert model.module.seen == 1  # in place, on the first device


def test_scalars_are_gathered_to_a_vector() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = nn.DataParallel(Total().cuda())(torch.ones(4, 2))
    assert out.tolist() == [4.0, 4.0]
    assert ["Was asked to gather along dimension 0" in str(one.message) for one in caught] == [True]


@pytest.mark.parametrize(("device", "found"), [("cpu", "cpu"), ("cuda:1", "cuda:1")])
def test_the_module_must_be_on_the_first_device(device: str, found: str) -> None:
    model = nn.DataParallel(Total().to(device))
    with pytest.raises(RuntimeError) as raised:
        model(torch.ones(4, 2))
    assert str(raised.value) == (
        "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on device: "
        + found
    )


def test_a_fixed_device_in_forward_fails_in_the_second_replica() -> None:
    class Fixed(nn.Linear):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x) + torch.ones(1, device="cuda:0")

    with pytest.raises(RuntimeError, match=r"Caught RuntimeError in replica 1 on device 1(.|\n)*same device"):
        nn.DataParallel(Fixed(2, 2).cuda())(torch.ones(4, 2))


def test_the_number_of_accelerators_is_that_of_the_simulation() -> None:
    with simulate(1):
        moved = nn.DataParallel(nn.Linear(2, 2))  # torchdevlint: ignore[TDL401]
        assert moved(torch.ones(4, 2)).device == torch.device("cuda:0")
        assert comm.scatter(torch.ones(2), [0])[0].device == torch.device("cuda:0")
    with simulate(3):
        model = nn.DataParallel(Total().cuda())
        assert model.device_ids == [0, 1, 2]
        assert model(torch.ones(6, 1)).tolist() == [2.0, 2.0, 2.0]
    assert nn.DataParallel(Total().cuda())(torch.ones(6, 1)).tolist() == [3.0, 3.0]


def test_containers_are_scattered_and_gathered() -> None:
    class Parts(nn.Linear):  # type: ignore[misc]
        def forward(self, x: torch.Tensor, *, mask: dict[str, torch.Tensor]) -> dict[str, Any]:
            return {"out": super().forward(x), "mask": (mask["mask"], None)}

    model = nn.DataParallel(Parts(2, 3).cuda())
    with torch.autocast("cuda", dtype=torch.float16):
        found = model(torch.ones(5, 2), mask={"mask": torch.arange(5.0)})
    assert (found["out"].shape, found["out"].dtype) == ((5, 3), torch.float16)
    assert (found["mask"][0].tolist(), found["mask"][1]) == ([0.0, 1.0, 2.0, 3.0, 4.0], None)
    found["out"].sum().backward()
    assert model.module.weight.grad.tolist() == [[5.0, 5.0]] * 3


def test_copies_between_devices() -> None:
    x = torch.arange(6.0)
    assert [(str(one.device), one.tolist()) for one in comm.scatter(x, [0, 1])] == [
        ("cuda:0", [0.0, 1.0, 2.0]),
        ("cuda:1", [3.0, 4.0, 5.0]),
    ]
    there = x.cuda()
    both = comm.broadcast(there, (0, 1))
    assert both[0] is there
    assert (both[1].device.index, both[1].tolist()) == (1, x.tolist())
    assert comm.gather(both, destination="cpu").device.type == "cpu"
    assert comm.gather(both, destination=1).tolist() == [*x.tolist(), *x.tolist()]
    assert comm.reduce_add(both, 0).tolist() == (2 * x).tolist()
    out = [torch.empty(6).cuda(1), torch.empty(6).cuda(0)]
    filled = comm.broadcast(x, out=out)
    assert [(one.device.index, one.tolist()) for one in filled] == [(1, x.tolist()), (0, x.tolist())]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: comm.scatter(torch.ones(4), ()), "Expected at least one device to scatter to"),
        (
            lambda: comm.scatter(torch.ones(4), (0, 1), chunk_sizes=(4,)),
            "Expected devices and chunk_sizes to be of same length, but got len(devices) = 2 and len(chunk_sizes) = 1",
        ),
        (
            lambda: comm.gather([torch.ones(1)]),
            "Expected all input tensors to be CUDA tensors, but tensor at index 0 has device cpu",
        ),
        (
            lambda: comm.gather([torch.ones(2, 1).cuda(), torch.ones(3, 2).cuda()]),
            "Input tensor at index 1 has invalid shape [3, 2], but expected [3, 1]",
        ),
        (
            lambda: comm.broadcast(torch.ones(1), out=[torch.ones(1)]),
            "Expected all output tensors to be CUDA tensors, but output tensor at index 0 has device 'cpu'",
        ),
        (
            lambda: comm.broadcast_coalesced([torch.ones(1).cuda(1)], (0, 1)),
            "All tensors must be on devices[0]: 0",
        ),
        (
            lambda: comm.scatter(torch.ones(4), out=[torch.ones(1).cuda()]),
            (
                "Total size for output tensors along scatter dim 0 does not match the source tensor size at dim 0. "
                "Expected 4, but got total size 1"
            ),
        ),
    ],
)
def test_refusals(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(RuntimeError) as raised:
        call()
    assert str(raised.value) == message


def placed() -> list[str]:
    """Where an operation on an accelerator ends in the current thread, and whether a mix is refused."""
    x = torch.ones(1, device="cuda:1")
    with pytest.raises(RuntimeError, match="same device"):
        x + torch.ones(1)
    return [str((x * 2).device), str(torch.ones(1).device)]


def test_threads_of_every_kind_take_part() -> None:
    answers: Queue[list[str]] = Queue()
    threading.Timer(0, lambda: answers.put(placed())).start()
    threading.Thread(target=lambda: answers.put(placed()), daemon=True).start()
    _thread.start_new_thread(lambda: answers.put(placed()), ())
    with ThreadPoolExecutor(1) as pool:
        answers.put(pool.submit(placed).result(10))
    for _ in range(4):
        assert answers.get(timeout=10) == ["cuda:1", "cpu"]
