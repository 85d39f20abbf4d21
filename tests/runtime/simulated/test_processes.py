"""Other processes: workers of loaders, tensors in queues, and what a forked child may do."""

from __future__ import annotations

import multiprocessing
import multiprocessing.queues
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.multiprocessing
from torch.utils.data import DataLoader, Dataset

from torchdevlint.runtime.simulated import simulate

FORKED = "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn'"


@pytest.fixture(autouse=True)
def two() -> Iterator[None]:
    with simulate(2):
        yield


class Rows(Dataset[torch.Tensor]):  # type: ignore[misc]
    def __init__(self, device: str = "cpu") -> None:
        self.rows = torch.arange(24.0).reshape(8, 3)
        self.device = device

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.rows[index].to(self.device)


def in_a_fork(function: Callable[[], str]) -> str:
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def answer() -> None:
        torch.set_num_threads(1)  # the threads of OpenMP do not survive a fork
        answers.put(function())

    child = context.Process(target=answer)
    child.start()  # torchdevlint: ignore[TDL308]
    child.join(30)
    assert child.exitcode == 0
    return str(answers.get())


def initialised() -> str:
    try:
        return str(torch.ones(1).cuda().device)
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize("pinned", [False, True])
def test_workers_hand_over_tensors_on_the_cpu(pinned: bool) -> None:
    model = torch.nn.Linear(3, 1).cuda()
    batches = list(DataLoader(Rows(), batch_size=4, num_workers=2, pin_memory=pinned))
    assert [(str(batch.device), batch.is_pinned()) for batch in batches] == [("cpu", pinned)] * 2
    with pytest.raises(RuntimeError, match="same device"):
        model(batches[0])
    assert model(batches[0].cuda()).device == torch.device("cuda:0")


def test_a_forked_worker_cannot_use_what_its_parent_uses() -> None:
    torch.ones(1).cuda()
    with pytest.raises(RuntimeError, match=FORKED) as raised:
        list(DataLoader(Rows("cuda"), num_workers=1))
    traceback.clear_frames(raised.tb)  # one of them has the iterator, and with it the worker


def test_indexing_what_was_inherited_makes_its_device_the_current_one() -> None:
    there, here = torch.ones(2, device="cuda"), torch.ones(2)

    def read(tensor: torch.Tensor) -> str:
        try:
            return str(tensor[0].shape)
        except RuntimeError as error:
            return str(error).splitlines()[0]

    def write(tensor: torch.Tensor) -> str:
        try:
            tensor[0] = 3.0
        except RuntimeError as error:
            return str(error).splitlines()[0]
        return str(tensor[0].item())

    for use, result in ((read, "torch.Size([])"), (write, "3.0")):
        assert in_a_fork(lambda: use(there)) == "CUDA error: initialization error"  # noqa: B023  # called at once
        assert in_a_fork(lambda: use(here)) == result  # noqa: B023
        assert use(there) == result


def test_a_fork_of_a_process_that_never_touched_cuda_may_use_it() -> None:
    assert in_a_fork(initialised) == "cuda:0"
    torch.cuda.init()
    assert FORKED in in_a_fork(initialised)


def test_memory_is_shared() -> None:
    here, there = torch.zeros(2), torch.zeros(2, device="cuda")
    assert (here.is_shared(), there.is_shared()) == (False, True)
    here.share_memory_()
    assert here.is_shared()
    assert here.device.type == "cpu"
    assert in_a_fork(lambda: str(here.add_(1).tolist())) == "[1.0, 1.0]"
    assert here.tolist() == [1.0, 1.0]


def answer(questions: Any, answers: Any) -> None:
    """In a spawned child."""
    x, halves, plain = questions.get()
    x += 1
    same = halves[0].untyped_storage().data_ptr() == halves[1].untyped_storage().data_ptr()
    answers.put((str(x.device), str(plain.device), same, torch.cuda.device_count(), (x * 2)))
    questions.get()


def test_a_spawned_child_has_the_accelerators_and_gets_tensors_on_them() -> None:
    context = torch.multiprocessing.get_context("spawn")
    questions, answers = context.Queue(), context.Queue()
    child = context.Process(target=answer, args=(questions, answers))
    child.start()
    x, both = torch.ones(2, device="cuda:1"), torch.zeros(4, device="cuda")
    questions.put((x, (both[:2], both[2:]), torch.ones(1)))
    *said, made = answers.get(timeout=60)
    assert said == ["cuda:1", "cpu", True, 2]
    assert (str(made.device), made.tolist()) == ("cuda:1", [4.0, 4.0])
    assert x.tolist() == [2.0, 2.0]
    questions.put(None)
    child.join(30)
    assert child.exitcode == 0
