"""Generators of the accelerator, default ones and seeds."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Iterator

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.runtime.simulated.support import driver_only as machine
from torchdevlint.runtime.simulated import simulate
from torchdevlint.runtime.simulated.driver import generators
from torchdevlint.runtime.simulated.driver.driver import Driver
from torchdevlint.runtime.simulated.driver.generators import claimed_device, drawing_from


@pytest.fixture
def driver() -> Iterator[Driver]:
    with machine() as made:
        yield made


pytestmark = pytest.mark.usefixtures("driver")


def draw(generator: torch.Generator) -> list[float]:
    values: list[float] = torch.rand(3, generator=generator).tolist()
    return values


@pytest.mark.parametrize(
    ("asked", "device"), [("cuda", "cuda"), ("cuda:1", "cuda:1"), (torch.device("cuda", 1), "cuda:1"), (1, "cuda:1")]
)
def test_device(asked: object, device: str) -> None:
    generator = torch.Generator(device=asked)  # type: ignore[arg-type]
    assert generator.device == torch.device(device)
    assert claimed_device(generator) == torch.device(device)
    assert isinstance(generator, torch.Generator)


def test_generator_of_the_cpu_is_the_real_one() -> None:
    for generator in (torch.Generator(), torch.Generator("cpu"), torch.default_generator):
        assert generator.device == torch.device("cpu")
        assert claimed_device(generator) is None
        assert isinstance(generator, torch.Generator)


def test_making_one_initialises_nothing(driver: Driver) -> None:
    for device in ("cuda", "cuda:1", "cuda:2"):  # nor does it look for the device
        assert torch.Generator(device).device == torch.device(device)
        assert not driver.initialised


def test_making_one_without_any_accelerator() -> None:
    with pytest.raises(RuntimeError, match="No CUDA GPUs are available"):
        generators.make_generator(Driver("cuda", 0), None)


def test_operators_see_the_claim() -> None:
    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            seen.append(claimed_device(kwargs["generator"]))
            return func(*args, **kwargs)

    with Mode():
        torch.rand(2, generator=torch.Generator("cuda:1"))  # torchdevlint: ignore[TDL312]
        torch.rand(2, generator=torch.Generator())
    assert seen == [torch.device("cuda:1"), None]


def test_claims_die_with_their_generators() -> None:
    gc.collect()
    before = len(generators._claims)
    made = [torch.Generator("cuda") for _ in range(10)]
    assert len(generators._claims) == before + 10
    del made
    gc.collect()
    assert len(generators._claims) == before


def test_state_comes_back() -> None:
    generator = torch.Generator("cuda").manual_seed(7)
    assert generator.initial_seed() == 7
    state = generator.get_state()
    first = draw(generator)
    assert draw(generator) != first
    generator.set_state(state)
    assert draw(generator) == first
    generator.set_state(state)
    assert draw(generator.clone_state()) == first


@pytest.mark.parametrize("again", [copy.deepcopy, lambda generator: pickle.loads(pickle.dumps(generator))])
def test_copies(again: object) -> None:
    generator = torch.Generator("cuda:1").manual_seed(7)
    copied = again(generator)  # type: ignore[operator]
    assert copied.device == torch.device("cuda:1")
    assert draw(copied) == draw(generator)


def test_states_of_the_two_kinds_are_not_mixed_up() -> None:
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        torch.Generator("cuda").set_state(torch.Generator().get_state())
    with pytest.raises(RuntimeError):
        torch.Generator().set_state(torch.Generator("cuda").get_state())
    with pytest.raises(TypeError, match=r"RNG state must be a torch\.ByteTensor"):
        torch.Generator("cuda").set_state(torch.zeros(3))


def test_state_of_a_real_cuda_generator_chooses_the_numbers() -> None:
    real = torch.tensor([7, *[0] * 15], dtype=torch.uint8)
    drawn = [draw(torch.Generator("cuda").set_state(real)) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert torch.Generator("cuda").set_state(real).initial_seed() == 7


def test_default_generators() -> None:
    assert torch.cuda.default_generators == ()
    torch.cuda.init()
    assert [generator.device.index for generator in torch.cuda.default_generators] == [0, 1]


def test_seeds_set_before_initialisation_are_kept() -> None:
    torch.manual_seed(11)
    torch.cuda.init()
    assert [generator.initial_seed() for generator in torch.cuda.default_generators] == [11, 11]
    assert torch.cuda.initial_seed() == 11


def test_seed_of_the_current_device_only() -> None:
    torch.manual_seed(1)
    with torch.cuda.device(1):
        torch.cuda.manual_seed(5)
    assert [generator.initial_seed() for generator in torch.cuda.default_generators] == [1, 5]
    torch.cuda.manual_seed_all(6)
    assert [generator.initial_seed() for generator in torch.cuda.default_generators] == [6, 6]


def test_states_of_all_devices() -> None:
    torch.cuda.manual_seed_all(3)
    states = torch.cuda.get_rng_state_all()
    first = [draw(generator) for generator in torch.cuda.default_generators]
    torch.cuda.set_rng_state_all(states)
    assert [draw(generator) for generator in torch.cuda.default_generators] == first
    torch.cuda.seed_all()
    assert draw(torch.cuda.default_generators[0]) != first[0]


def test_fork_rng_restores_the_accelerators() -> None:
    torch.cuda.init()
    state = torch.cuda.get_rng_state(1)
    with torch.random.fork_rng(devices=range(2)):
        torch.cuda.manual_seed_all(123)
    assert torch.equal(torch.cuda.get_rng_state(1), state)


def test_operators_without_a_generator_draw_from_another() -> None:
    torch.manual_seed(2)
    torch.cuda.manual_seed_all(9)
    torch.cuda.init()
    generator = torch.cuda.default_generators[0]
    before = torch.get_rng_state()
    with drawing_from(generator):
        first = torch.nn.functional.dropout(torch.ones(50))
        second = torch.nn.functional.dropout(torch.ones(50))
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(first, second)
    generator.manual_seed(9)
    with drawing_from(generator):
        assert torch.equal(torch.nn.functional.dropout(torch.ones(50)), first)


def test_the_state_of_the_cpu_is_on_the_cpu() -> None:
    with simulate(1):
        state = torch.get_rng_state()
        for set_rng_state in (torch.set_rng_state, torch.random.set_rng_state):
            with pytest.raises(TypeError, match=r"RNG state must be a torch\.ByteTensor"):
                set_rng_state(state.to("cuda"))
            set_rng_state(state.to("cuda").cpu())
        with torch.random.fork_rng(devices=[0]):
            torch.rand(2)
        assert torch.equal(torch.get_rng_state(), state)


def test_a_generator_without_an_index_serves_all_accelerators() -> None:
    with simulate(2):
        generator = torch.Generator("cuda").manual_seed(1)
        assert torch.rand(2, device="cuda:1", generator=generator).device == torch.device("cuda:1")
        with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda'"):
            torch.rand(2, generator=generator)
