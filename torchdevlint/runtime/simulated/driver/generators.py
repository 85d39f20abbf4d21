"""`torch.Generator("cuda")`: a CPU generator that claims an accelerator.

Its numbers are the CPU's, not those of CUDA's Philox. It is as repeatable as the real one: seeds, states, pickling. A
state has the 16 bytes of a CUDA generator's state (aten/src/ATen/cuda/CUDAGeneratorImpl.cpp: get_state: the seed and an
offset) before the CPU generator's own, so states of the two kinds are not taken for each other.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from torchdevlint.runtime.simulated.errors import NotSimulated
from torchdevlint.runtime.simulated.patches import Patch

if TYPE_CHECKING:
    from torchdevlint.runtime.simulated.driver.driver import Driver

_Real: Any = torch._C.Generator
_HEADER = 16
_STATE = int(_Real().get_state().numel())

# By the address of the C++ generator: operators reach a dispatch mode with another Python object for the same one.
_claims: dict[int, torch.device] = {}


def claimed_device(generator: Any) -> torch.device | None:
    """The accelerator that a generator claims; None for one of the CPU."""
    return _claims.get(generator._cdata)


class _IncludesReal(type(_Real)):  # type: ignore[misc]
    """`isinstance(g, torch.Generator)` holds for every generator, also for those that are not simulated."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Real)


class ClaimedGenerator(torch._C.Generator, metaclass=_IncludesReal):  # type: ignore[misc]
    """A generator of an accelerator. Made by `torch.Generator` while a simulation is active."""

    def __new__(cls, device: torch.device) -> ClaimedGenerator:
        self: ClaimedGenerator = _Real.__new__(cls)
        cdata = self._cdata
        _claims[cdata] = device
        weakref.finalize(self, _claims.pop, cdata, None).atexit = False
        return self

    def __init__(self, device: torch.device) -> None:
        pass

    @property
    def device(self) -> torch.device:
        return _claims[self._cdata]

    def get_state(self) -> torch.Tensor:
        seed = self.initial_seed() & (2**64 - 1)
        header = torch.tensor([*seed.to_bytes(8, "little"), *bytes(8)], dtype=torch.uint8, device="cpu")
        return torch.cat((header, super().get_state()))

    def set_state(self, new_state: torch.Tensor) -> ClaimedGenerator:
        """Also takes the 16 bytes of a real CUDA generator, of which the seed and the offset choose the numbers."""
        _require_bytes(new_state)
        size = new_state.numel()
        if size == _HEADER + _STATE:
            super().set_state(new_state[_HEADER:].clone())
        elif size in (_HEADER, _HEADER // 2):
            data = bytes(new_state.tolist())
            seed, offset = int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little")
            self.manual_seed((seed + offset) & (2**63 - 1))
        else:
            raise RuntimeError("RNG state is wrong size")
        return self

    def clone_state(self) -> ClaimedGenerator:
        return type(self)(self.device).set_state(self.get_state())

    def graphsafe_get_state(self) -> Any:
        raise NotSimulated("a generator's state inside CUDA graphs")

    def graphsafe_set_state(self, state: Any) -> Any:
        raise NotSimulated("a generator's state inside CUDA graphs")

    def get_offset(self) -> int:
        raise NotSimulated("the offset of a Philox generator")

    def set_offset(self, offset: int) -> Any:
        raise NotSimulated("the offset of a Philox generator")

    def __reduce__(self) -> Any:
        return _restore, (str(self.device), self.get_state())


class CpuGenerator(torch._C.Generator, metaclass=_IncludesReal):  # type: ignore[misc]
    """A generator of the CPU, which takes neither a state that is elsewhere nor that of an accelerator's generator."""

    def __new__(cls, device: torch.device) -> CpuGenerator:
        self: CpuGenerator = _Real.__new__(cls, device)
        return self

    def __init__(self, device: torch.device) -> None:
        pass

    def set_state(self, new_state: torch.Tensor) -> CpuGenerator:
        _require_bytes(new_state)
        super().set_state(new_state[:_HEADER] if new_state.numel() == _HEADER + _STATE else new_state)
        return self


def _require_bytes(state: Any) -> None:
    """torch/csrc/Generator.cpp, `THPGenerator_setState`."""
    if not isinstance(state, torch.Tensor):
        raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
    if state.dtype != torch.uint8 or state.device.type != "cpu":
        raise TypeError("RNG state must be a torch.ByteTensor")


for kind in (ClaimedGenerator, CpuGenerator):
    kind.__module__, kind.__qualname__ = "torch", "Generator"


def _restore(device: str, state: torch.Tensor) -> Any:
    generator = torch.Generator(device)
    generator.set_state(state)
    return generator


def generator_class(driver: Driver) -> type:
    """What `torch.Generator` is while `driver` is simulated: makes generators of the CPU or of the accelerator."""

    class Generator(torch._C.Generator, metaclass=_IncludesReal):  # type: ignore[misc]
        def __new__(cls, device: Any = "cpu") -> Any:
            wanted = driver.parse(device)
            if wanted.type != driver.kind:
                return CpuGenerator(wanted)
            driver.refuse_bad_fork()
            return make_generator(driver, wanted.index)

    Generator.__module__, Generator.__qualname__ = "torch", "Generator"
    return Generator


def make_generator(driver: Driver, index: int | None) -> ClaimedGenerator:
    """A generator as `CUDAHooks::getNewGenerator` makes it: settles the visible devices, but initialises nothing.

    It is of the device that is named, which need not be there, and of none where no index is. MPS has one device.
    """
    if not driver.visible():
        raise RuntimeError(f"No {driver.kind.upper()} GPUs are available")
    if index is None and driver.kind == "mps":
        index = 0
    return ClaimedGenerator(torch.device(driver.kind) if index is None else torch.device(driver.kind, index))


def default_generators(driver: Driver) -> tuple[ClaimedGenerator, ...]:
    """One for each visible accelerator, with a seed by chance (getDefaultCUDAGenerator); the driver keeps them."""
    if "generators" not in driver.kept:
        made = tuple(make_generator(driver, index) for index in range(driver.visible()))
        for generator in made:
            generator.seed()
        driver.kept["generators"] = made
    generators: tuple[ClaimedGenerator, ...] = driver.kept["generators"]
    return generators


def default_generator(driver: Driver, device: torch.device) -> ClaimedGenerator:
    """The one that operators on `device` (resolved) draw from when they are given none."""
    index: int = device.index
    return default_generators(driver)[index]


@contextmanager
def drawing_from(generator: Any) -> Iterator[None]:
    """Operators that take no generator (dropout) draw from `generator` here, not from the CPU's default one."""
    default = torch.default_generator
    kept = default.get_state()
    default.set_state(_Real.get_state(generator))
    try:
        yield
    finally:
        _Real.set_state(generator, default.get_state())
        default.set_state(kept)


def patches(driver: Driver) -> Iterable[Patch]:
    yield torch, "Generator", generator_class(driver)
