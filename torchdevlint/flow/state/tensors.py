"""Tensors among values: which are in one, where they were made, and what moving one gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.state.conditions import asks_kind_of, parted_by_switch
from torchdevlint.flow.state.devices import DEFAULT, MODEL, TOP, Device, Origin, on_cpu
from torchdevlint.flow.state.limits import MAX_CREATIONS
from torchdevlint.flow.state.values import (
    UNKNOWN,
    Choice,
    Conditions,
    Library,
    Map,
    Partial,
    Record,
    Seq,
    Site,
    Step,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.source.nodes import inside, keyword_of

_HOLDING = frozenset({Choice, Library, Map, Partial, Record, Seq})
"""The kinds of values that hold others."""
_CHOSEN = frozenset({Origin.ARGUMENT, Origin.EXPRESSION, Origin.LITERAL, Origin.MODEL})
"""Where a factory makes a tensor that is told a device, or takes that of another tensor."""
OF_A_MODEL_ELSEWHERE = "the parameter of a model that came from elsewhere"
"""The first step in the life of what ``model.parameters()`` gives, where nothing says how the model was made."""


def tensors_in(value: Value) -> Iterator[Tensor]:
    """The tensors that a value is, may be, or holds as a container."""
    kind = type(value)
    if kind is Tensor:
        yield value  # type: ignore[misc]
        return
    if kind not in _HOLDING:
        return
    parts: list[Value] = [each for _, each in value.alternatives] if isinstance(value, Choice) else []
    if isinstance(value, Seq):
        parts = [*(value.items or ()), *value.members, value.element]
    elif isinstance(value, Map):
        parts = [*(each for _, each in value.items), value.element]
    elif isinstance(value, Library) and not value.module:
        parts = list(value.children)
    elif isinstance(value, Record):
        parts = [each for _, each in value.items]
    for each in parts:
        yield from tensors_in(each)


def sites_in(value: Value) -> set[Site]:
    """Where the tensors that a value is or holds were made, those on the default device."""
    return {site for tensor in tensors_in(value) for site in tensor.creations}


def same_root(one: Tensor, other: Tensor) -> bool:
    """Whether both came from the same creation or parameter: one may be the other one, conditionally moved."""
    started = one.steps and other.steps and not one.steps[0].of_module and one.steps[0] == other.steps[0]
    return bool(started) or any(site in other.creations for site in one.creations)


def is_created(tensor: Tensor) -> bool:
    """Whether it was made here, by a factory."""
    return bool(tensor.steps and tensor.steps[0].made_by)


def is_made_of_data(tensor: Tensor) -> bool:
    """Whether a factory made it of what nothing is known of, and nothing has moved it: ``torch.tensor(rows)``."""
    return tensor.device == TOP and is_created(tensor) and not tensor.moved


def beside_data(tensors: list[Tensor]) -> list[Tensor]:
    """Of the operands of one operation those that tell where it is: arguments are where what is made of data is."""
    if not any(map(is_made_of_data, tensors)):
        return tensors
    return [each for each in tensors if each.moved or each.device.origin is not Origin.ARGUMENT]


def may_be_meant(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors, one of them moved, may be meant to be in two places: one that is moved on one path only.

    Two that were made here are not, if one was made of sizes or literals without a device, and the other one on a
    device that the code names, or on that of an argument. What is made of data may come from one caller, and the other
    one from another.
    """
    if same_root(one, other):
        return True
    if not (is_created(one) and is_created(other)):
        return False
    placed, made = (one, other) if one.moved else (other, one)
    named = placed.device.origin in _CHOSEN and not on_cpu(placed.device)
    own = all(is_of_sizes(each) or _is_of_literals(each) for each in made.creations)
    return not (named and made.device == DEFAULT and made.creations and own)


def are_parted_by_switch(one: Value, one_if: Conditions, other: Value, other_if: Conditions) -> bool:
    """``if args.cuda: x = x.cuda()``: what goes with it has to be moved by the same test."""
    if not isinstance(one, Tensor) or not isinstance(other, Tensor) or one.moved == other.moved:
        return False
    return one.device != other.device and parted_by_switch(one_if, other_if)


def as_kinds_ask(one: Value, one_if: Conditions, other: Value, other_if: Conditions) -> Tensor | None:
    """``torch.ones(3, device=x.device)`` if `x` is a tensor, else ``torch.ones(3)``: one that is where it has to be.

    None where no test asks whether that is a tensor whose device was taken.
    """
    if not isinstance(one, Tensor) or not isinstance(other, Tensor) or one.moved == other.moved:
        return None
    placed, without = (one, other_if) if one.moved else (other, one_if)
    taken = placed.device.origin is Origin.ARGUMENT and is_created(one) and is_created(other)
    if not taken or not any(asks_kind_of(key, placed.device.name) for key, _ in without):
        return None
    return Tensor(TOP, one.ndim if one.ndim == other.ndim else None, (), placed.steps, True)


def is_of_sizes(site: Site) -> bool:
    """Whether a factory made a tensor of sizes alone, and was told no device."""
    return not is_told_device(site) and site.function.rpartition(".")[2] not in _OF_DATA


def _is_of_literals(site: Site) -> bool:
    """Whether what it holds is written down: ``torch.tensor([0, 1])``."""
    if is_told_device(site) or not isinstance(site.node, ast.Call) or len(site.node.args) != 1:
        return False
    parts = (ast.List, ast.Tuple, ast.Constant, ast.UnaryOp, ast.unaryop, ast.expr_context)
    return all(isinstance(each, parts) for each in inside(site.node.args[0]))


def is_told_device(site: Site) -> bool:
    """Whether a factory was told a device, which is None on some path."""
    return isinstance(site.node, ast.Call) and any(each.arg == "device" for each in site.node.keywords)


_OF_DATA = torch_api.DATA_FACTORIES | torch_api.CPU_FACTORIES | torch_api.LEGACY_CONSTRUCTORS


def both_creations(one: Tensor, other: Tensor) -> tuple[Site, ...]:
    """Where they were made, as far as `MAX_CREATIONS` goes."""
    return tuple(islice(dict.fromkeys((*one.creations, *other.creations)), MAX_CREATIONS))


def given_tensor(device: Device, node: ast.AST, ndim: int | None = None, name: str = "it") -> Tensor:
    """The tensor that something unknown turned out to be, which came from an input or argument on `device`."""
    how = {
        Origin.MODEL: "came with the inputs of forward",
        Origin.ARGUMENT: f"comes from the argument `{device.name}`",
    }.get(device.origin, f"is made of what is on {device.describe()}")
    of_input = device.origin is Origin.MODEL
    return Tensor(device, ndim, (), (Step(f"{name} {how}", node, of_input=of_input),))


def of_unknown(values: list[Value]) -> Unknown:
    """What an operation makes of unknown values: something that is where they are, if that is one place.

    Arguments that an operation takes together are together, and what an input of a Module goes with is where that is.
    """
    places = list(dict.fromkeys([value.given for value in values if type(value) is Unknown]))
    if len(places) < 2:
        place = places[0] if places else None
    elif MODEL in places:
        place = MODEL
    else:
        place = places[0] if all(each is not None and each.origin is Origin.ARGUMENT for each in places) else None
    return UNKNOWN if place is None else Unknown(given=place)


def is_of_module(value: Tensor) -> bool:
    """Whether it is what a module gave as its own, which nothing moved, and nobody knows where that is."""
    own = value.steps[0] if value.steps and value.steps[0].of_module and not value.moved else None
    came = value.device.origin is Origin.ARGUMENT
    return own is not None and (value.device == TOP or (came and own.text == OF_A_MODEL_ELSEWHERE))


def device_if_tensor(value: Value) -> Device | None:
    """Where a tensor is, or what may be one; None for anything else, and where nothing is known."""
    return value.given if isinstance(value, Unknown) else value.device if isinstance(value, Tensor) else None


def is_as_given(value: Value) -> bool:
    """Whether nothing is known of it, or that it is where an argument is and was not moved since."""
    if isinstance(value, Tensor):
        return value.device.origin is Origin.ARGUMENT and not value.moved
    return isinstance(value, Unknown)


def came_with_input(value: Value) -> bool:
    """Whether it is, or may be, a tensor that is where the caller or the model has it."""
    place = device_if_tensor(value)
    return place is not None and place.origin in (Origin.ARGUMENT, Origin.MODEL)


def is_of_elsewhere(tensor: Tensor) -> bool:
    """Whether it is where the model or an argument is, or a factory was told where, for what has dimensions."""
    if tensor.device.origin is Origin.EXPRESSION and is_created(tensor) and tensor.ndim:
        made = tensor.steps[0].node
        return isinstance(made, ast.Call) and keyword_of(made, "device") is not None
    return tensor.device.origin in (Origin.ARGUMENT, Origin.MODEL)


def as_output(node: ast.AST, value: Value) -> Value:
    """What a loss compares with a target: a tensor where the code has put what it was made of."""
    place = value.given if isinstance(value, Unknown) else None
    return given_tensor(place, node) if place is not None and place.origin is Origin.EXPRESSION else value


def at(tensor: Tensor, device: Device, step: Step | None = None) -> Tensor:
    """The tensor after an explicit move to `device`; a Parameter that is there already stays what it is."""
    steps = tensor.steps if step is None else (*tensor.steps[:1], *tensor.steps[1:][-2:], step)
    if tensor.parameter and tensor.device == device != TOP:
        return tensor
    unwrapped = step.node if tensor.parameter and step is not None else tensor.unwrapped
    return replace(tensor, device=device, steps=steps, moved=True, parameter=False, unwrapped=unwrapped)


def modules_in(value: Value, depth: int = 3) -> Iterator[Library]:
    """The library modules that a value is, may be, wraps or holds."""
    if type(value) not in _HOLDING:
        return
    parts: tuple[Value, ...] = ()
    if isinstance(value, Library):
        yield value
        parts = (*value.children, *([] if value.inner is None else [value.inner]))
    elif isinstance(value, Choice):
        parts = tuple(each for _, each in value.alternatives)
    elif isinstance(value, Seq):
        parts = (*(value.items or ()), *value.members, value.element)
    elif isinstance(value, Map):
        parts = (*(each for _, each in value.items), value.element)
    elif isinstance(value, Partial):
        parts = (value.function,)
    for each in parts if depth else ():
        yield from modules_in(each, depth - 1)


def child_of(container: Library, child: Value) -> Value:
    """A member of a ModuleList or Sequential: a module where the container is, even if its class is not known.

    One of many kinds is none that is known: a loop over them would have to tell all ways through.
    """
    kinds = [each for _, each in child.alternatives] if isinstance(child, Choice) else []
    many = len(kinds) > _MANY_KINDS and all(isinstance(each, Library) and each.module for each in kinds)
    return Library("", True, container.device) if many or isinstance(child, Unknown) else child


_MANY_KINDS = 2


def in_common(choice: Choice) -> Value:
    """What many alternatives have in common: layers that the arms of a constructor make are a layer of some kind."""
    kinds = [each for _, each in choice.alternatives if isinstance(each, Library) and each.module]
    places = {each.device for each in kinds}
    return Library("", True, places.pop()) if len(kinds) == len(choice.alternatives) and len(places) == 1 else UNKNOWN


def elements(value: Value) -> list[Value]:
    """The values directly inside a container."""
    if isinstance(value, Seq):
        return list(value.items) if value.items is not None else [value.element]
    if isinstance(value, Map):
        return [each for _, each in value.items] + [value.element]
    return []
