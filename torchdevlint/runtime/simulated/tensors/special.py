"""Operators that move bytes between devices, or put one storage in place of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchdevlint.runtime.record.sites import user_line
from torchdevlint.runtime.simulated.driver.generators import default_generator
from torchdevlint.runtime.simulated.operators.indexing import storage_elsewhere
from torchdevlint.runtime.simulated.state import Simulation
from torchdevlint.runtime.simulated.story import reported
from torchdevlint.runtime.simulated.tensors.claims import ATTRIBUTE, CPU, Claim, claim_of, real_device
from torchdevlint.runtime.simulated.tensors.gradients import returns_to
from torchdevlint.runtime.simulated.tensors.wrappers import moving_to_the_cpu

_aten = torch.ops.aten


def _to_copy(simulation: Simulation, func: Any) -> Any:
    """`_to_copy`: a cast, or a copy to `device` where a composite function or torch's own code asks for one.

    A C++ function that copies "to the options" of another tensor asks for the CPU, because every tensor really is
    there; so only an accelerator counts. `Tensor.to`, `.cpu` and `.cuda` do not come here for their moves (`movement`).
    """
    call = func._op

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not isinstance(args[0], torch.Tensor):  # a number: a mode sees those that C++ wraps in a tensor as they were
            return call(*args, **kwargs)
        wanted = kwargs.get("device")
        claim = claim_of(args[0])
        source = CPU if claim is None else claim.device
        if simulation.is_simulated(wanted):
            target = simulation.resolve(wanted)
        else:
            target = CPU if wanted == CPU and moving_to_the_cpu() else source
        made = call(*args, **({**kwargs, "device": CPU} if simulation.is_simulated(wanted) else kwargs))
        if real_device(made) != CPU or (claim is None and target is source):
            return made
        how, created, before = ("to", None, None) if claim is None else (claim.how, claim.created, claim.moved)
        if target == source:
            simulation.claim(made, target, how, created, before)
        else:
            simulation.claim(made, target, how, created, user_line())
            moved(simulation, made, source, target, not kwargs.get("non_blocking"))
        return made

    return run


def _copy(simulation: Simulation, func: Any) -> Any:
    """`copy_` crosses devices; so does the assignment to a slice. What had no claim is then where its source is."""
    call, kind, driver = func._op, simulation.kind, simulation.driver

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not isinstance(args[1], torch.Tensor):
            return call(*args, **kwargs)
        target, source = claim_of(args[0]), claim_of(args[1])
        if (target is not None and target.device.type == kind) or (source is not None and source.device.type == kind):
            driver.refuse_bad_fork()
        made = call(*args, **kwargs)
        if source is not None and target is None:
            simulation.claim(args[0], source.device, "copy_", source.created, source.moved)
        elif source is not None and target is not None and source.device != target.device:
            blocking = not (args[2] if len(args) > 2 else kwargs.get("non_blocking"))
            simulation.graphs_differ = True
            returns_to(args[1], source.device)
            moved(simulation, args[1], source.device, target.device, blocking)
        return made

    return run


def _set(simulation: Simulation, func: Any) -> Any:
    """`set_`: the tensor has the given storage from now on; one that came from a file is on the CPU."""
    call = func._op

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor, storage = args[:2]
        given, own = getattr(storage, ATTRIBUTE), claim_of(tensor)
        if given is None and storage.device == CPU:
            setattr(storage, ATTRIBUTE, Claim(CPU, "load", user_line()))
        elif given is not None and own is not None and given.device != own.device:
            error = RuntimeError(storage_elsewhere(own.device, given.device))
            raise reported(simulation, error, [("self", tensor)], "set_")
        return call(*args, **kwargs)

    return run


def _scalar(simulation: Simulation, func: Any) -> Any:
    """The number in a tensor: `.item()`, `float(t)`, `if t`. On an accelerator it waits for everything before it."""
    call = func._op

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        claim = claim_of(args[0])
        if claim is not None and claim.device.type == simulation.kind:
            simulation.driver.refuse_bad_fork()
            if simulation.recorder is not None:
                simulation.recorder.synced("item")
        return call(*args, **kwargs)

    return run


def _dropout(simulation: Simulation, func: Any) -> Any:
    """`native_dropout` takes no generator: the same in operators that do, so that it draws from the accelerator's."""
    call = func._op

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor, p, train = args
        claim = claim_of(tensor)
        if claim is None or claim.device.type != simulation.kind or tensor.is_nested:
            made = call(*args, **kwargs)
        elif train is False or p == 0:
            made = (tensor.clone(), torch.ops.aten.ones_like(tensor, dtype=torch.bool))
        else:
            mask = torch.ops.aten.empty_like(tensor, dtype=torch.bool)
            mask.bernoulli_(1 - p, generator=default_generator(simulation.driver, claim.device))
            made = (tensor.mul(mask).mul_(1 / (1 - p) if p < 1 else 0.0), mask)
        if claim is not None:
            for one in made:
                simulation.claim(one, claim.device, "native_dropout", user_line())
        return made

    return run


def moved(
    simulation: Simulation, tensor: torch.Tensor, source: torch.device, target: torch.device, blocking: bool
) -> None:
    """Tell the recorder of a transfer."""
    if simulation.recorder is not None:
        nbytes = tensor.numel() * tensor.element_size()
        simulation.recorder.moved(nbytes, str(source), str(target), blocking)


SPECIAL: dict[Any, Callable[[Simulation, Any], Any]] = {
    _aten._to_copy.default: _to_copy,
    _aten.native_dropout.default: _dropout,
    _aten.copy_.default: _copy,
    _aten._local_scalar_dense.default: _scalar,
    _aten.set_.source_Storage: _set,
    _aten.set_.source_Storage_storage_offset: _set,
}
