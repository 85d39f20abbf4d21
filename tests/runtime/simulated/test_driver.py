"""The simulated driver: what is visible and since when, the current device, initialisation, forks."""

# ruff: noqa: PLW0108  # lambdas look names up while the simulation is active, not before

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable

import pytest
import torch

from tests.conftest import needs_fork
from tests.runtime.simulated.support import NO_GPU, driven, machine, needs_accelerator, since
from torchdevlint.runtime.simulated.driver.driver import Driver
from torchdevlint.runtime.simulated.operators import texts
from torchdevlint.runtime.simulated.operators.texts import installed

VISIBLE = "CUDA_VISIBLE_DEVICES"
# Before pull request 175355 `torch.cuda.device_count` asked NVML also after the initialisation.
ASKS_THE_DRIVER = texts.installed() >= (2, 13) or "is_initializing" in inspect.getsource(torch.cuda.device_count)


@pytest.fixture(autouse=True)
def _all_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VISIBLE, raising=False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0", (0,)),
        ("1,0", (1, 0)),
        ("0,1,2,3", (0, 1, 2, 3)),
        ("", ()),
        ("-1", ()),
        ("NoDevFiles", ()),
        ("1,7,0", (1,)),
        ("0,-1,1", (0,)),
        ("1,1", ()),
        ("1gpu2,2ampere", (1, 2)),
        (" 2 , 3", (2, 3)),
        ("GPU-00000002", (2,)),
        ("GPU-00000003,GPU-00000001", (3, 1)),
        ("GPU-00000001,GPU-f", (1,)),
        ("GPU-", ()),  # ambiguous
        ("MIG-0", ()),
    ],
)
def test_list_is_read_as_cuda_reads_it(value: str, expected: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VISIBLE, value)
    assert Driver(installed=4).ordinals() == expected


def test_late_list_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    with machine(4):
        assert torch.cuda.is_available()
        monkeypatch.setenv(VISIBLE, "1")
        torch.cuda.init()
        assert torch.cuda.device_count() == (4 if ASKS_THE_DRIVER else 1)
        torch.cuda.set_device(3)


def test_device_count_does_not_settle_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    with machine(4) as driver:
        assert torch.cuda.device_count() == 4
        monkeypatch.setenv(VISIBLE, "2,1")
        assert torch.cuda.device_count() == 2
        assert driver.ordinals() == (2, 1)


@pytest.mark.parametrize(
    "harmless",
    [
        lambda: torch.device("cuda"),
        lambda: torch.manual_seed(0),
        lambda: torch.cuda.manual_seed_all(0),
        lambda: torch.cuda.empty_cache(),
        lambda: torch.cuda.is_initialized(),
        lambda: torch.cuda.memory_stats(),
        lambda: torch.cuda.memory_allocated(),
        lambda: torch.cuda.device_count(),
        pytest.param(lambda: torch.accelerator.current_accelerator(), marks=needs_accelerator),
        pytest.param(lambda: torch.accelerator.device_count(), marks=[needs_accelerator, since(2, 8)]),
        pytest.param(lambda: torch.accelerator.synchronize(0), marks=needs_accelerator),
        lambda: setattr(torch.backends.cudnn, "benchmark", False),
    ],
)
def test_harmless_before_the_list(harmless: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    with machine(4) as driver:
        harmless()
        monkeypatch.setenv(VISIBLE, "3")
        assert not driver.initialised
        assert driver.ordinals() == (3,)


@pytest.mark.parametrize(
    "freezing",
    [
        lambda: torch.cuda.is_available(),
        pytest.param(lambda: torch.accelerator.is_available(), marks=[needs_accelerator, since(2, 7)]),
        lambda: torch.autocast("cuda"),
        lambda: torch.amp.GradScaler("cuda"),
    ],
)
def test_settles_the_list_without_initialising(freezing: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    with machine(4) as driver:
        freezing()
        monkeypatch.setenv(VISIBLE, "3")
        assert not driver.initialised
        assert driver.ordinals() == (0, 1, 2, 3)


FORMERLY = [
    initialising
    for last, initialising in (
        ((2, 7), lambda: torch.accelerator.device_count()),
        ((2, 6), lambda: torch.accelerator.is_available()),
    )
    if hasattr(torch, "accelerator") and installed() <= last
]
"""What initialised CUDA in the first releases of `torch.accelerator`."""


@pytest.mark.parametrize(
    "initialising",
    [
        lambda: torch.cuda.current_device(),
        lambda: torch.cuda.get_device_name(),
        lambda: torch.cuda.get_device_properties(0),
        lambda: torch.cuda.get_device_capability(),
        lambda: torch.cuda.set_device(1),
        lambda: torch.cuda.synchronize(),
        lambda: torch.cuda.Stream(),
        lambda: torch.cuda.current_stream(),
        lambda: torch.cuda.Event().record(),
        lambda: torch.cuda.is_bf16_supported(),
        lambda: torch.cuda.reset_peak_memory_stats(),
        pytest.param(lambda: torch.accelerator.current_device_index(), marks=needs_accelerator),
        *FORMERLY,
    ],
)
def test_initialises(initialising: Callable[[], object]) -> None:
    with machine() as driver:
        initialising()
        assert driver.initialised
        assert torch.cuda.is_initialized()


def test_nvml_check_does_not_settle_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    with machine(4) as driver:
        assert torch.cuda.is_available()
        monkeypatch.setenv(VISIBLE, "3")
        assert driver.ordinals() == (3,)


def test_empty_list_leaves_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VISIBLE, "")
    with machine():
        assert not torch.cuda.is_available()
        assert torch.cuda.device_count() == 0
        with pytest.raises(RuntimeError, match=r"^No CUDA GPUs are available$"):
            torch.cuda.current_device()


def test_machine_without_accelerators_is_the_cpu_build() -> None:
    with machine(0) as driver:
        assert not torch.cuda.is_available()
        error, text = NO_GPU
        with pytest.raises(error, match=text):
            driver.resolve(torch.device("cuda"))


def test_resolve_gives_the_current_device_of_the_thread() -> None:
    with machine(3) as driver:
        assert driver.resolve(torch.device("cuda")) == torch.device("cuda:0")
        torch.cuda.set_device(2)
        assert driver.resolve(torch.device("cuda")) == torch.device("cuda:2")
        assert driver.resolve(torch.device("cuda:1")) == torch.device("cuda:1")
        elsewhere = []
        thread = threading.Thread(target=lambda: elsewhere.append(torch.cuda.current_device()))
        thread.start()
        thread.join()
        assert elsewhere == [0]
        assert torch.cuda.current_device() == 2


def test_invalid_ordinal() -> None:
    error = getattr(torch, "AcceleratorError", RuntimeError)
    with machine() as driver:
        for use in (
            lambda: driver.resolve(torch.device("cuda:2")),
            lambda: torch.cuda.set_device(2),
            lambda: torch.cuda.device(5).__enter__(),
            lambda: torch.cuda.Stream("cuda:2"),
        ):
            with pytest.raises(error, match="CUDA error: invalid device ordinal\nGPU device may be out of range"):
                use()


def test_current_device_is_restored() -> None:
    with machine():
        with torch.cuda.device(1):
            assert torch.cuda.current_device() == 1
            with torch.cuda.device(None), torch.cuda.device(-1):
                assert torch.cuda.current_device() == 1
        assert torch.cuda.current_device() == 0
        if hasattr(getattr(torch, "accelerator", None), "device_index"):
            with torch.accelerator.device_index(1):
                assert torch.cuda.current_device() == 1
            assert torch.cuda.current_device() == 0


def test_driver_that_comes_back_is_what_it_was() -> None:
    outer = Driver()
    with driven(outer):
        torch.cuda.manual_seed(3)
        torch.cuda.init()
        stream = torch.cuda.Stream
        state = torch.cuda.get_rng_state()
    with driven(Driver(installed=1)):
        assert not torch.cuda.is_initialized()
        assert torch.cuda.device_count() == 1
    with driven(outer):
        assert torch.cuda.is_initialized()
        assert torch.cuda.Stream is stream
        assert torch.equal(torch.cuda.get_rng_state(), state)


def in_child(question: Callable[[], str]) -> str:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, question().encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    with os.fdopen(reader) as pipe:
        return pipe.read()


def use() -> str:
    try:
        return str(torch.cuda.current_device())
    except RuntimeError as error:
        return str(error)


BAD_FORK = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start "
    "method"
)


@needs_fork
@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (lambda: None, "0"),
        (lambda: torch.cuda.device_count(), "0"),
        (lambda: torch.manual_seed(0), "0"),
        (lambda: torch.cuda.is_available(), BAD_FORK),
        (lambda: torch.cuda.init(), BAD_FORK),
        *(
            [
                (lambda: torch.accelerator.is_available(), BAD_FORK),
                (lambda: torch.accelerator.device_count(), "0"),
                (lambda: torch.accelerator.current_accelerator(), "0"),
            ]
            if texts.installed() >= (2, 8)
            else []
        ),
    ],
)
def test_fork(before: Callable[[], object], expected: str) -> None:
    with machine():
        before()
        assert in_child(use) == expected
        assert use() == "0"


@needs_fork
def test_what_nvml_answers_leaves_forks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    with machine():
        assert torch.cuda.is_available()
        assert in_child(use) == "0"


@needs_fork
def test_questions_in_a_bad_fork() -> None:
    with machine():
        torch.cuda.init()
        assert in_child(lambda: f"{torch.cuda.is_available()} {torch.cuda.is_initialized()}") == "True False"
        torch.manual_seed(1)
        assert in_child(lambda: str(torch.manual_seed(2).initial_seed())) == "2"


@needs_fork
def test_a_fork_that_is_excused_goes_on_with_what_it_inherited_and_its_own_forks_do_not() -> None:
    def excused() -> str:
        driver.excuse_fork()
        more = torch.ones(3, device="cuda") + kept
        return f"{more.sum().item()} {torch.cuda.memory_allocated() > before} {in_child(use) == BAD_FORK}"

    with machine() as driver:
        kept = torch.ones(3, device="cuda")
        before = torch.cuda.memory_allocated()
        assert in_child(use) == BAD_FORK
        assert in_child(excused) == "6.0 True True"
