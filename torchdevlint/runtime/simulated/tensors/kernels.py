"""What a kernel of CUDA says of a call that is right on the CPU, beside where its operands are."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

from torchdevlint.runtime.simulated.errors import NotSimulated
from torchdevlint.runtime.simulated.operators import Call, determinism, kernels, schema_of
from torchdevlint.runtime.simulated.operators.schema import Schema
from torchdevlint.runtime.simulated.operators.texts import mismatch, without_kernel
from torchdevlint.runtime.simulated.state import Simulation
from torchdevlint.runtime.simulated.story import refused, reported
from torchdevlint.runtime.simulated.tensors.claims import claim_of, device_of

Handler = Callable[[tuple[Any, ...], dict[str, Any]], Any]


def as_on_cuda(simulation: Simulation, func: Any, handler: Handler) -> Handler:
    """`handler` for an overload, with what its kernel for CUDA refuses; the same one if that is nothing.

    The refusal comes after the call, since errors of shapes come before it on CUDA as well.
    """
    if simulation.kind != "cuda" or simulation.flat:
        return handler
    schema = schema_of(func)
    lacked = kernels.types_lacked(schema)
    only_there = kernels.types_lacked_by_the_cpu(schema)
    if lacked or only_there:
        handler = _of_types(simulation, schema, handler, lacked, only_there)
    quantized = kernels.lacked_when_quantized(schema)
    if quantized:
        handler = _of_quantized(simulation, quantized, handler)
    if determinism.may_alert(schema.namespace, schema.name):
        handler = _deterministic(simulation, schema, handler)
    return handler


def by_name(schema: Schema, handler: Handler) -> Handler:
    """`handler` for an overload whose `device` may be given by position, and then comes to it by name."""
    first = schema.device
    if first is None or not schema.tensors:
        return handler

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) > first:
            kwargs = {**kwargs, **dict(zip(schema.names[first:], args[first:], strict=False))}
        return handler(args[:first], kwargs)

    return run


def _is_there(simulation: Simulation, value: Any) -> bool:
    claim = claim_of(value) if isinstance(value, torch.Tensor) else None
    return claim is not None and claim.device.type == simulation.kind


def _of_types(
    simulation: Simulation, schema: Schema, handler: Handler, lacked: frozenset[str], only_there: frozenset[str]
) -> Handler:
    types = {getattr(torch, name) for name in lacked}
    not_here = {getattr(torch, name) for name in only_there}

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        first = args[0]
        try:
            made = handler(args, kwargs)
        except RuntimeError as error:
            if getattr(first, "dtype", None) in not_here and _is_there(simulation, first):
                kind = str(first.dtype).removeprefix("torch.")
                raise NotSimulated(f"`{schema.base}` of {kind}, which has no kernel for the CPU here,") from error
            raise
        if getattr(first, "dtype", None) in types and _is_there(simulation, first):
            refusal = kernels.refusal(Call(schema, args, kwargs, device_of))
            if refusal is not None:
                raise refused(simulation, refusal, schema.base)
        return made

    return run


def _of_quantized(simulation: Simulation, lacked: str, handler: Handler) -> Handler:
    text = without_kernel(f"aten::{lacked}", "QuantizedCUDA")

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        first = args[0][0] if isinstance(args[0], (list, tuple)) and args[0] else args[0]
        if isinstance(first, torch.Tensor) and first.is_quantized and _is_there(simulation, first):
            raise reported(simulation, NotImplementedError(text), [("self", first)], lacked)
        return handler(args, kwargs)

    return run


def _deterministic(simulation: Simulation, schema: Schema, handler: Handler) -> Handler:
    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        made = handler(args, kwargs)
        if torch._C._get_deterministic_algorithms() and _is_there(simulation, args[0]):
            call = Call(schema, args, kwargs, device_of)
            warn_only = torch._C._get_deterministic_algorithms_warn_only()
            text = determinism.alert(call, warn_only)
            if text and warn_only:
                warnings.warn(text, stacklevel=3)  # the line that called the operator
            elif text:
                operands = [operand for operand in call.operands() if not operand.out]
                raise refused(simulation, mismatch(text, *operands), schema.base)
        return made

    return run
