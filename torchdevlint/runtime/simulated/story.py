"""What is known of the operands of an operation that fails, told to the recorder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import torch

from torchdevlint.runtime.record.marks import marks_of
from torchdevlint.runtime.record.recorder import OperandStory
from torchdevlint.runtime.record.sites import Place
from torchdevlint.runtime.record.variables import named
from torchdevlint.runtime.simulated.errors import not_simulated
from torchdevlint.runtime.simulated.operators import OPERANDS
from torchdevlint.runtime.simulated.operators.texts import without_kernel
from torchdevlint.runtime.simulated.state import Simulation
from torchdevlint.runtime.simulated.tensors.claims import claim_of, device_of

Error = TypeVar("Error", bound=BaseException)


def reported(
    simulation: Simulation, error: Error, operands: Sequence[tuple[str, torch.Tensor]], operation: str
) -> Error:
    """`error`, which is about to be raised by `operation`, after the recorder was told of it and of its operands."""
    if simulation.recorder is not None:
        stories = named([_story(name, tensor) for name, tensor in operands], [tensor for _, tensor in operands])
        simulation.recorder.failed(error, stories, operation)
    return error


def refused(simulation: Simulation, error: Error, operation: str) -> Error:
    """The same for an `error` of one of the checks of `operators`, which holds its operands itself."""
    operands = [(operand.name, operand.tensor) for operand in vars(error).pop(OPERANDS, ())]  # it may be pickled
    return reported(simulation, error, operands, operation)


def passes(simulation: Simulation, error: BaseException) -> bool:
    """Whether an `error` of one of the checks of `operators` is let pass by somebody who looks for what comes later."""
    if simulation.lets_pass is None:
        return False
    return simulation.lets_pass([operand.tensor for operand in getattr(error, OPERANDS, ())])


def body_of(simulation: Simulation, operator: Any, tensors: Sequence[torch.Tensor]) -> Callable[..., Any]:
    """The body that an operator of `torch.library.custom_op` runs for these operands.

    Where it has one for the accelerator and one for the CPU, that of the CPU stands for both. Raises what the
    dispatcher does if it has none for where the tensors are.
    """
    name, bodies = operator._qualname, operator._backend_fns
    places = {claim.device.type for tensor in tensors if (claim := claim_of(tensor)) is not None}
    wanted = simulation.kind if simulation.kind in places else "cpu"
    if places and None not in bodies and wanted not in bodies:
        refuse_unregistered(simulation, name, wanted, tensors)
    body: Callable[..., Any] | None = bodies.get(None) or bodies.get("cpu")
    if body is None:
        not_simulated(f"`{name}`, which has kernels for {', '.join(sorted(bodies))} only,")
    return body


def refuse_unregistered(simulation: Simulation, name: str, kind: str, tensors: Sequence[torch.Tensor]) -> NoReturn:
    """Raises what the dispatcher does if an operator has no kernel for a kind of device."""
    error = NotImplementedError(without_kernel(name, kind.upper()))
    raise reported(simulation, error, [("", tensor) for tensor in tensors], name)


def refuse_pinning(simulation: Simulation, operation: str) -> NoReturn:
    """Raises what memory of an accelerator gets that is to be pinned (aten/src/ATen/EmptyTensor.cpp)."""
    raise reported(simulation, RuntimeError("Only dense CPU tensors can be pinned"), (), operation)


def created_at(tensor: torch.Tensor) -> Place:
    """The line that made a tensor, as the recorder asks for it."""
    claim = claim_of(tensor)
    return None if claim is None else claim.created


def _story(name: str, tensor: torch.Tensor) -> OperandStory:
    claim = claim_of(tensor)
    ragged = tensor.is_nested and tensor.layout is torch.strided  # has a number of rows, but no shape
    shape = (tensor.size(0),) if ragged else tuple(tensor.shape)
    dtype, marks = str(tensor.dtype), marks_of(tensor)
    owner = "parameter" if isinstance(tensor, torch.nn.Parameter) else ""
    if claim is None:
        return OperandStory(name, str(device_of(tensor)), shape, dtype, owner=owner, marks=marks)
    lost = claim.copy[0] if claim.copy is not None and claim.copy[1]() is None else None
    origin = (claim.created, claim.how, claim.moved, lost)
    return OperandStory(name, str(claim.device), shape, dtype, *origin, owner=owner, marks=marks)
