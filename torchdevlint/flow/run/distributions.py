"""Distributions of `torch.distributions` and of Pyro: objects that compute with the tensors they were made of."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.run.factories import factory_device, size_ndim
from torchdevlint.flow.run.operations import Operands, combine, created
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, on_cpu
from torchdevlint.flow.state.joins import alternatives, is_number, merge
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import UNKNOWN, Choice, Library, Tensor, Value

_PACKAGES = ("torch.distributions.", "pyro.distributions.")
_NO_DISTRIBUTIONS = ("transforms", "constraints", "constraint_registry", "utils")
_OF_A_VALUE = frozenset("log_prob cdf icdf".split())
_OF_PARAMETERS = frozenset("sample rsample sample_n entropy perplexity".split())
_ATTRIBUTES = frozenset("mean variance stddev mode loc scale probs logits rate concentration".split())
_DRAWN = frozenset("sample rsample".split())
_SAME = frozenset("expand expand_by to_event independent mask".split())


def is_distribution(name: str) -> bool:
    """Whether a library class is a distribution, by its public name."""
    return (
        name.startswith(_PACKAGES)
        and name.rpartition(".")[2][:1].isupper()
        and not any(part in _NO_DISTRIBUTIONS for part in name.split("."))
        and not name.endswith("Transform")
    )


def construct(name: str, arguments: Arguments) -> Library:
    """A distribution, with the tensors that it is made of; one of another distribution has that one's.

    Numbers become tensors on the default device, if there are only such.
    """
    held: list[Value] = []
    for _, value in arguments.pairs:
        if isinstance(value, Library):
            held += value.children
        elif isinstance(value, Tensor) or (isinstance(value, Choice) and _holds_tensor(value)):
            held.append(value)
    starred = arguments.starred or arguments.double_starred
    of_numbers = bool(arguments.pairs) and not starred and all(is_number(value) for _, value in arguments.pairs)
    return Library(name, device=DEFAULT if of_numbers else None, children=tuple(held))


def compare(frame: Frame, state: State, node: ast.expr, distribution: Library) -> None:
    """Hold the parameters against each other: whatever is done with a distribution, they are operands of one operation.

    To make it does not show that, since they are only expanded to one shape. Then a 0-dim tensor is none any more.
    """
    tensors = [each for each in distribution.children if isinstance(each, Tensor)]
    if len(tensors) > 1 and is_distribution(distribution.name):
        expanded = any(each.ndim for each in tensors if not on_cpu(each.device))
        operation = f"what a `{distribution.name.rpartition('.')[2]}` calculates"
        combine(frame, state, node, operation, _parameters(node, distribution), expanded)


def _holds_tensor(value: Choice) -> bool:
    return any(isinstance(each, Tensor) for _, each in alternatives(value))


def call_method(
    frame: Frame, state: State, node: ast.Call, receiver_node: ast.expr, receiver: Library, arguments: Arguments
) -> Value:
    """``d.sample()`` and ``d.log_prob(x)``: elementwise operations of the parameters, and of the argument."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if name in _SAME:
        return receiver
    if name not in _OF_A_VALUE and name not in _OF_PARAMETERS:
        return UNKNOWN
    operands = _parameters(receiver_node, receiver)
    if name in _OF_A_VALUE:
        operands = [*(each for given in arguments.positional[:1] for each in tensor_operands(*given)), *operands]
    size = arguments.get(0, "sample_shape") if name in _DRAWN else None
    if size is not None and receiver.device == DEFAULT:
        made_by, ndim = f"{receiver.name}.{name}", size_ndim(size[1])
        return created(frame, state, node, made_by, ndim, factory_device(frame, state, Arguments([], {})))
    result = combine(frame, state, node, f"`{name}()`", operands) if operands else UNKNOWN
    return _of_size(result, size_ndim(size[1])) if size is not None else result


def _of_size(result: Value, ndim: int) -> Value:
    """What is drawn of 0-dim parameters has the dimensions that were asked for."""
    return replace(result, ndim=ndim) if isinstance(result, Tensor) and result.ndim == 0 else result


def attribute(receiver: Library, name: str) -> Value:
    """``d.mean`` and its kin: where the parameters are."""
    tensors = [each for each in receiver.children if isinstance(each, Tensor)]
    if name not in _ATTRIBUTES or not tensors or len(tensors) < len(receiver.children):
        return UNKNOWN
    return tensors[0] if all(each.device == tensors[0].device for each in tensors) else UNKNOWN


def divergence(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``kl_divergence(p, q)``: an elementwise operation of the parameters of both."""
    operands: Operands = []
    for given, value in arguments.positional[:2]:
        if isinstance(value, Library):
            operands += _parameters(given, value)
    return combine(frame, state, node, "`kl_divergence()`", operands) if operands else UNKNOWN


def sample(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``pyro.sample(name, d)``: a draw, or the observed value."""
    given = arguments.get(1, "fn")
    observed = arguments.get(2, "obs")
    if given is None or not isinstance(given[1], Library):
        return UNKNOWN
    operands = _parameters(given[0], given[1])
    if observed is not None and isinstance(observed[1], Tensor):
        operands = [observed, *operands]
    return combine(frame, state, node, "`pyro.sample()`", operands) if operands else UNKNOWN


def _parameters(node: ast.expr, receiver: Library) -> Operands:
    """The parameters as operands; those that are all on the default device as one, which needs moving as a whole."""
    first, *rest = receiver.children or (UNKNOWN,)
    for each in rest:
        joined = merge(first, each) if isinstance(first, Tensor) and isinstance(each, Tensor) else None
        if joined is None or not isinstance(first, Tensor) or first.device != DEFAULT:
            return [(node, child) for child in receiver.children]
        first = joined
    return [(node, first)] if receiver.children else []
