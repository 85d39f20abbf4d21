"""Claims on what comes out of an operation, and on what it has written."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor

from torchdevlint.runtime.record.sites import user_line
from torchdevlint.runtime.simulated.driver.memory import block_of
from torchdevlint.runtime.simulated.errors import refuse_float64_on_mps
from torchdevlint.runtime.simulated.operators import Rule
from torchdevlint.runtime.simulated.state import Simulation
from torchdevlint.runtime.simulated.tensors.claims import (
    PLAIN,
    WITHOUT_STORAGE,
    AcceleratorClaim,
    Claim,
    beside,
    claim_of,
    storage_of,
    tensors_in,
)

WITH_A_MODE = (FakeTensor, FunctionalTensor)
"""Tensors of a tracer, which say themselves where they are: their bytes, if there are any, are on `meta`."""
_Tensor = torch.Tensor
_SEQUENCES = (list, tuple)


def claim_new(simulation: Simulation, made: Any, places: Any, first: Claim | None, name: str) -> None:
    """Claim outputs that have no claim yet: `places` is the device of all, or a tuple by position."""
    if isinstance(made, _Tensor):
        _claim_one(simulation, made, places[0] if isinstance(places, tuple) else places, first, name)
    elif isinstance(made, _SEQUENCES):
        for number, item in enumerate(made):
            claim_new(simulation, item, places[number] if isinstance(places, tuple) else places, first, name)


def _claim_one(
    simulation: Simulation, made: torch.Tensor, device: torch.device, first: Claim | None, name: str
) -> None:
    try:
        storage = storage_of(made)
    except WITHOUT_STORAGE:
        created, moved = (first.created, first.moved) if first is not None else (None, None)
        simulation.claim(made, device, name, created, moved)
        return
    if storage._torchdevlint_claim is not None or (type(made) not in PLAIN and isinstance(made, WITH_A_MODE)):
        return
    if first is None:
        simulation.claim(made, device, name)
    elif device is first.device and type(first) is AcceleratorClaim:
        if simulation.lacks_float64:
            refuse_float64_on_mps(device, made.dtype)
        block = block_of(storage.nbytes())
        storage._torchdevlint_claim = beside(first, block, name, user_line())
    elif device.type == simulation.kind:
        refuse_float64_on_mps(device, made.dtype)
        storage._torchdevlint_claim = simulation.claim_for(storage.nbytes(), device, name, user_line())
    else:
        shared = first.device is device and not first.pinned  # what is computed of pinned memory is not pinned
        storage._torchdevlint_claim = first if shared else Claim(device, name, first.created)


def adopt(simulation: Simulation, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], first: Claim) -> None:
    """A tensor without a claim that was written with claimed operands is where they are."""
    for argument in rule.schema.tensors:
        if not argument.written:
            continue
        value = args[argument.index] if argument.index < len(args) else kwargs.get(argument.name)
        for tensor in tensors_in((value,), {}):
            if claim_of(tensor) is None:
                simulation.claim(tensor, first.device, "", first.created, first.moved)
