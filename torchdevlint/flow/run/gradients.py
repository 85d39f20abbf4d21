"""Gradients that come from outside: each has to be where the tensor is that it belongs to."""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.tensors import GRADIENT
from torchdevlint.flow.run.operations import Operands, combine
from torchdevlint.flow.run.tensor_methods import surely_tensor, tensor_operands
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.joins import alternatives, distribute
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, UNKNOWN, Choice, Seq, Tensor, Unknown, Value


def grad(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``torch.autograd.grad(outputs, inputs, grad_outputs)``: gradients, each where its input is.

    Outputs of which nothing is known are where the inputs are that they were made of.
    """
    outputs = (value for _, value in _operands(arguments, 0, "outputs"))
    known = any(isinstance(each, (Tensor, Choice)) for each in outputs)
    made_of = (0, "outputs") if known else (1, "inputs")
    _check(frame, state, node, "`torch.autograd.grad()`", arguments, made_of, (2, "grad_outputs"))
    given = [value for _, value in _operands(arguments, 1, "inputs")]
    tensors = [each for each in given if isinstance(each, Tensor)]
    alike = len(tensors) == len(given) and len({each.device for each in tensors}) == 1
    inputs = None if arguments.starred else arguments.get(1, "inputs")
    if not alike and inputs is not None and isinstance(inputs[1], Seq) and inputs[1].items:
        return Seq(tuple(map(_gradient_of, inputs[1].items)), UNKNOWN)
    return Seq(None, _gradient_of(tensors[0]) if alike else UNKNOWN)


def _gradient_of(value: Value) -> Value:
    """The gradient of an input, which is where that is, in each case that is known of it."""
    if isinstance(value, Choice):
        return distribute(value, _gradient_of)
    return Tensor(value.device, None, (), value.steps) if isinstance(value, Tensor) else UNKNOWN


def backward(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``torch.autograd.backward(tensors, grad_tensors)``."""
    _check(frame, state, node, "`torch.autograd.backward()`", arguments, (0, "tensors"), (1, "grad_tensors"))
    return NONE


def is_gradient(tensor: Value, value: Value) -> bool:
    """Whether ``tensor.grad = value`` gives a tensor its gradient: it is one, or may be one and gets one."""
    given, own = ([each for _, each in alternatives(one)] for one in (value, tensor))
    if not all(isinstance(each, (Tensor, Unknown)) or each == NONE for each in own):
        return False
    return any(isinstance(each, Tensor) for each in (*own, *given))


def assign(
    frame: Frame, state: State, target: ast.Attribute, tensor: Value, value: Value, value_node: ast.expr | None
) -> None:
    """``tensor.grad = value`` raises where both are not in one place, so ``tensor.grad`` is where `tensor` is."""
    combine(frame, state, target, GRADIENT, [(target.value, tensor), (value_node or target, value)], strict=True)
    path = dotted_path(target)
    if path is not None:
        state.paths.pop(path, None)


def _check(
    frame: Frame,
    state: State,
    node: ast.Call,
    operation: str,
    arguments: Arguments,
    outputs: tuple[int, str],
    gradients: tuple[int, str],
) -> None:
    made = [surely_tensor(*each) for each in _operands(arguments, *outputs)]
    combine(frame, state, node, operation, [*made, *_operands(arguments, *gradients)])


def _operands(arguments: Arguments, place: int, name: str) -> Operands:
    given = None if arguments.starred or arguments.double_starred else arguments.get(place, name)
    return [] if given is None else tensor_operands(*given)
