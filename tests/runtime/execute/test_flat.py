"""The control machine: every accelerator is the CPU under another name, so that nothing is ever misplaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="accelerators of torch are simulated")

from torchdevlint.runtime.simulated import simulate  # noqa: E402

KINDS = ["cuda", "xpu", "mps"]


@pytest.fixture
def _flat() -> Iterator[None]:
    with simulate(2, flat=True):
        yield


flat = pytest.mark.usefixtures("_flat")


def default_device() -> Any:
    torch.set_default_device("cuda")
    try:
        return torch.zeros(3)
    finally:
        torch.set_default_device(None)


def in_context() -> Any:
    with torch.device("cuda"):
        return torch.zeros(3)


MAKERS: dict[str, Callable[[], Any]] = {
    "a factory": lambda: torch.zeros(3, device="cuda"),
    "a factory of the second": lambda: torch.randn(3, device=torch.device("cuda", 1)),
    "a number": lambda: torch.ones(3, device=1),
    "tensor": lambda: torch.tensor([1.0], device="cuda:1"),
    "arange": lambda: torch.arange(3, device="cuda"),
    "a like factory": lambda: torch.zeros_like(torch.ones(3), device="cuda"),
    "a method that makes": lambda: torch.ones(3).new_zeros(3, device="cuda"),
    "from_numpy, moved": lambda: torch.from_numpy(torch.ones(3).numpy()).to("cuda"),
    "to": lambda: torch.ones(3).to("cuda"),
    "to a device and a type": lambda: torch.ones(3).to("cuda:1", torch.float64),
    "to, not blocking": lambda: torch.ones(3).to("cuda", non_blocking=True),
    "cuda": lambda: torch.ones(3).cuda(),
    "cuda of a number": lambda: torch.ones(3).cuda(1),
    "cpu": lambda: torch.ones(3).cuda().cpu(),
    "pinned": lambda: torch.ones(3).pin_memory().cuda(),
    "a legacy type": lambda: torch.cuda.FloatTensor(3),
    "a legacy type of a tensor": lambda: torch.cuda.FloatTensor(torch.ones(3).to("cuda:1")),
    "type": lambda: torch.ones(3).type("torch.cuda.FloatTensor"),
    "a module": lambda: torch.nn.Linear(3, 3).cuda().weight,
    "a module of the second": lambda: torch.nn.Linear(3, 3).to("cuda:1").weight,
    "a module made there": lambda: torch.nn.Linear(3, 3, device="cuda").weight,
    "a default device": default_device,
    "a context of a device": in_context,
    "random numbers of a generator": lambda: torch.randn(3, generator=torch.Generator("cuda"), device="cuda"),
    "a scattered batch": lambda: torch.nn.parallel.scatter(torch.ones(6).cuda(), [0, 1])[1],
}


@flat
@pytest.mark.parametrize("name", MAKERS)
def test_every_tensor_answers_cpu(name: str) -> None:
    made = MAKERS[name]()
    assert made.device == torch.device("cpu")
    assert not made.is_cuda
    assert made.get_device() == -1
    assert (made + torch.ones(3)).device.type == "cpu", "it meets what was never moved"
    assert made.detach().numpy() is not None


@flat
def test_there_are_accelerators() -> None:
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 2
    torch.cuda.set_device(1)
    assert torch.cuda.current_device() == 1
    torch.cuda.synchronize()
    assert torch.device("cuda", 1) == torch.device("cuda:1"), "a device keeps its name"
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.zeros(3, device="cuda:7")


@flat
def test_what_raises_on_accelerators_does_not_raise() -> None:
    x, w = torch.ones(3, 3, device="cuda:1"), torch.ones(3, 3, device="cuda:0")
    here = torch.ones(3, 3)
    assert torch.equal(x @ w, x @ here)
    assert torch.cat([x, here]).shape == (6, 3)
    assert torch.nn.functional.linear(x, here).shape == (3, 3)
    assert x[torch.tensor([0, 2])].shape == (2, 3)
    assert here.index_add_(0, torch.tensor([0], device="cuda"), w[:1]).shape == (3, 3)
    rnn = torch.nn.LSTM(3, 3).cuda()
    output, _ = rnn(here, (torch.zeros(1, 3), torch.zeros(1, 3)))
    assert output.device.type == "cpu"
    assert torch.randperm(4, generator=torch.Generator(), device="cuda").sum() == 6
    assert x.numpy().shape == (3, 3)
    loss = torch.nn.CrossEntropyLoss()(torch.nn.Linear(3, 3).cuda()(here), torch.tensor([0, 1, 2]))
    loss.backward()
    assert loss.item() > 0


@flat
def test_training_on_two_of_them_is_training_on_the_cpu() -> None:
    model = torch.nn.DataParallel(torch.nn.Linear(3, 2).cuda())
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(4, 3)).sum().backward()
        optimizer.step()
    assert [*model.state_dict()] == ["module.weight", "module.bias"]
    scaler = torch.amp.GradScaler("cuda") if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler()
    with torch.autocast("cuda"):
        assert scaler.scale(model(torch.ones(4, 3)).sum()).device.type == "cpu"


@flat
@pytest.mark.parametrize(
    "where", [None, "cpu", "cuda", "cuda:1", torch.device("cuda"), {"cuda:0": "cuda:1"}, "function"]
)
def test_checkpoints_load_wherever_they_are_mapped_to(tmp_path: Path, where: Any) -> None:
    file = tmp_path / "checkpoint.pt"
    torch.save({"weight": torch.ones(3, device="cuda:1")}, file)
    mapped = (lambda storage, _location: storage) if where == "function" else where
    loaded = torch.load(file, map_location=mapped)["weight"]
    assert loaded.device.type == "cpu"
    assert loaded.tolist() == [1, 1, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_other_kinds_are_flat_as_well(kind: str) -> None:
    with simulate(1, kind, flat=True):
        there = torch.ones(3, device=kind)
        assert there.device.type == "cpu"
        assert (there + torch.nn.Linear(3, 3).to(kind)(torch.ones(3))).shape == (3,)


def test_leaving_restores_torch() -> None:
    watched = [
        (torch.Tensor, "device"), (torch.Tensor, "cuda"), (torch.Tensor, "to"), (torch, "zeros"), (torch, "load"),
        (torch.cuda, "is_available"), (torch.nn.Module, "cuda"), (torch, "Generator"), (torch.nn, "DataParallel"),
    ]  # fmt: skip
    before = [getattr(owner, name) for owner, name in watched]
    available = torch.cuda.is_available()
    with simulate(2, flat=True):
        assert torch.cuda.is_available()
        kept = torch.ones(3, device="cuda")
    assert [getattr(owner, name) for owner, name in watched] == before
    assert torch.cuda.is_available() is available
    assert kept.device.type == "cpu"
    assert (kept + 1).tolist() == [2, 2, 2]


def test_a_flat_machine_inside_of_another_ends_with_its_block() -> None:
    with simulate(2):
        outside = torch.ones(3, device="cuda")
        with simulate(2, flat=True):
            assert torch.ones(3, device="cuda").device.type == "cpu"
        assert torch.ones(3, device="cuda").device.type == "cuda"
        assert outside.device.type == "cuda"
        with pytest.raises(RuntimeError, match="same device"):
            outside + torch.ones(3)
