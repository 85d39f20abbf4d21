"""Random operations on accelerators: which generator they draw from, and which they refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, wraps
from typing import Any

import torch

from torchdevlint.runtime.simulated.driver.generators import claimed_device, default_generator, drawing_from
from torchdevlint.runtime.simulated.operators import Call, Rule, texts
from torchdevlint.runtime.simulated.patches import Patch
from torchdevlint.runtime.simulated.state import Simulation, simulation
from torchdevlint.runtime.simulated.story import refused, reported
from torchdevlint.runtime.simulated.tensors.claims import CPU, device_of

Overload = Any


def is_random(func: Overload) -> bool:
    return torch.Tag.nondeterministic_seeded in func.tags


def drawn(
    simulation: Simulation, call: Any, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], device: torch.device
) -> Any:
    """A random operation on an accelerator draws from the accelerator's generator, if it is given none."""
    schema = rule.schema
    given = Call(schema, args, kwargs, device_of)
    if given.value(schema.generator) is not None or given.named("dropout_p") == 0:
        return call(*args, **kwargs)
    generator = default_generator(simulation.driver, device)
    taking = call if schema.generator is not None else _taking_a_generator(rule.overload)
    if taking is not None:
        return taking(*args, **{**kwargs, "generator": generator})
    with drawing_from(generator):
        return call(*args, **kwargs)


_GENERATOR_OVERLOADS = {"": "generator", "low": "low_generator", "low_dtype": "low_generator_dtype"}


@cache
def _taking_a_generator(func: Overload) -> Any:
    """The overload of a random factory that also takes a generator; None if there is none."""
    name = _GENERATOR_OVERLOADS.get(func._schema.overload_name)
    found = getattr(func.overloadpacket, name, None) if name is not None else None
    return None if found is None else found._op


def check_generator(simulation: Simulation, generator: Any, device: torch.device, operation: str) -> None:
    """A generator serves one kind of device."""
    own = claimed_device(generator) or CPU
    if not simulation.flat and own.type != device.type and device.type in ("cpu", simulation.kind):
        raise refused(simulation, texts.wrong_generator(device, own), operation)


def _set_rng_state(original: Callable[[torch.Tensor], None]) -> Callable[[torch.Tensor], None]:
    """aten/src/ATen/core/Generator.h, `check_rng_state`: a state is on the CPU."""

    @wraps(original)
    def set_rng_state(new_state: torch.Tensor) -> None:
        if isinstance(new_state, torch.Tensor) and device_of(new_state).type != "cpu":
            error = TypeError("RNG state must be a torch.ByteTensor")
            raise reported(simulation(), error, [("new_state", new_state)], "set_rng_state")
        original(new_state)

    return set_rng_state


def patches() -> Iterator[Patch]:
    """What replaces functions of `torch.random` whose generator is of C++."""
    set_rng_state = _set_rng_state(torch.random.set_rng_state)
    yield torch.random, "set_rng_state", set_rng_state
    yield torch, "set_rng_state", set_rng_state
