"""What calls give the functions of a file: tensors of the CPU, or what is made of arguments of their callers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from torchdevlint.flow.scope.annotations import annotated_tensor
from torchdevlint.flow.scope.call_sites import given_to
from torchdevlint.flow.scope.mapped_moves import left_behind_copies
from torchdevlint.flow.state.devices import HOST, TOP, Device, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.others import Imported
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import is_made_of_data, tensors_in
from torchdevlint.flow.state.values import (
    NONE,
    Cls,
    Const,
    Func,
    Loaded,
    Number,
    Obj,
    Ref,
    Tensor,
    Text,
    Unknown,
    Value,
)
from torchdevlint.source.nodes import nodes_in, once_a_node

_NO_TENSORS = frozenset({Cls, Const, Func, Imported, Number, Obj, Ref, Text})
"""Values that hold none, and do not come from any."""


def observe(activation: Frame, state: State) -> None:
    """Remember for each parameter whether all calls give it tensors of the CPU, or made of what may be numbers.

    A list or dict of tensors counts as what it holds. What is unknown on one of several paths tells nothing of the CPU;
    and where one call gives what is not known, a function that asks tensors for their device is written for any.
    What a script does when it is run, such as a trial on random numbers, says nothing of other users; what it has
    brought back to the CPU before is meant to be there.
    """
    function, observed = activation.function, activation.machine.observed
    caller = activation.called_at[1].function if activation.called_at is not None else None
    if function is None:
        return
    arrived = activation.machine.arrivals.given
    for name, value in state.env.items():
        arrived[function, name] = arrived.get((function, name), False) or value != NONE
    if activation.entry.kind == "module":
        _note_brought_back(activation, state)
        return
    for name, value in state.env.items():
        if type(value) in _NO_TENSORS:
            continue
        if type(value) is Unknown and value.given in (None, HOST):
            _note_left_behind(activation, name, value)
        if type(value) is Unknown and value.given is None and _is_said_to_be_tensor(function, name):
            activation.machine.told_nothing.add(function)
        given = [each for each in _given_in(value) if _is_placed(each)]
        _note_origin(activation, name, value, given)
        if given:
            here = all(map(_is_on_cpu, given))
            activation.machine.arrivals.note_parameter(function, name, caller, given)
            if not here or all(_is_told(each) for _, each in alternatives(value)):
                observed[function, name] = observed.get((function, name), True) and here
        elif type(value) is Unknown and value.given is None and _asks_for_place(function):
            observed[function, name] = False


def as_left(
    frame: Frame, node: ast.AST, arguments: Sequence[Value], keywords: Mapping[str, Value]
) -> tuple[Sequence[Value], Mapping[str, Value]]:
    """The arguments; on the CPU are those of which the caller has a copy elsewhere: ``there = x.to(device)``."""
    left = left_behind_copies(frame.function) if frame.function is not None else frozenset()
    if not left or not isinstance(node, ast.Call) or len(node.args) != len(arguments):
        return arguments, keywords
    named = {each.arg: each.value for each in node.keywords}
    given = [_as_left(left, at, value) for at, value in zip(node.args, arguments, strict=True)]
    return given, {name: _as_left(left, named.get(name), value) for name, value in keywords.items()}


def _as_left(left: frozenset[str], at: ast.expr | None, value: Value) -> Value:
    return Unknown(HOST) if type(value) is Unknown and isinstance(at, ast.Name) and at.id in left else value


def _note_left_behind(activation: Frame, name: str, value: Unknown) -> None:
    """Remember what a call gives that leaves it behind, or of which nothing is known: both together tell nothing."""
    function, arrivals = activation.function, activation.machine.arrivals
    assert function is not None
    if value.given is None:
        arrivals.open.add((function, name))
    elif _is_left_behind(activation, name):
        arrivals.left_behind.add((function, name))
    if (function, name) in arrivals.open & arrivals.left_behind:
        activation.machine.observed[function, name] = False


def _is_left_behind(activation: Frame, name: str) -> bool:
    """Whether the caller gives a parameter what it has a copy of on a device: ``there = rows.to(device)``."""
    function, called = activation.function, activation.called_at
    if called is None or called[1].function is None:
        return False
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    left = left_behind_copies(called[1].function)
    given = given_to(called[0], function, name) if left and isinstance(called[0], ast.Call) else None
    return isinstance(given, ast.Name) and given.id in left


@once_a_node
def _asks_for_place(function: ast.AST) -> bool:
    """Whether a function asks something for its device: ``torch.zeros(4, device=masks.device)``."""
    return any(each.attr == "device" and isinstance(each.ctx, ast.Load) for each in nodes_in(function, ast.Attribute))


def _note_brought_back(activation: Frame, state: State) -> None:
    """Remember for each parameter whether all that the program of the file gives it is on the CPU by name."""
    function, brought = activation.function, activation.machine.arrivals.brought_back
    assert function is not None
    for name, value in state.env.items():
        if type(value) not in _NO_TENSORS:
            given = list(_given_in(value))
            is_so = bool(given) and all(each.device.origin is Origin.LITERAL and on_cpu(each.device) for each in given)
            brought[function, name] = brought.get((function, name), True) and is_so


def _is_said_to_be_tensor(function: ast.AST, name: str) -> bool:
    return any(each.arg == name and annotated_tensor(each.annotation) for each in nodes_in(function, ast.arg))


def _note_origin(activation: Frame, name: str, value: Value, given: list[Tensor]) -> None:
    """Remember of which arguments of the function that was entered a call makes what it gives a parameter."""
    machine, function = activation.machine, activation.function
    elsewhere = [each for each in given if not _is_on_cpu(each)]
    places = [None if each.moved else each.device for each in elsewhere]
    places += [Device(Origin.ARGUMENT, read) for each in tensors_in(value) if (read := _read_on_host(machine, each))]
    places += [
        each.given
        for _, each in alternatives(value)
        if isinstance(each, Unknown) and each.given not in (None, TOP, HOST)
    ]
    names = {place.name for place in places if place is not None and place.origin is Origin.ARGUMENT}
    if function is None or machine.entry_node is None or not places:
        return
    if all(place is not None and place.origin is Origin.ARGUMENT for place in places):
        made_of = machine.arrivals.made_of.setdefault((function, name), {})
        made_of.update(dict.fromkeys((machine.entry_node, each) for each in sorted(names)))
    elif not any(isinstance(each, Unknown) and each.given is None for _, each in alternatives(value)):
        machine.arrivals.placed.add((function, name))  # else it is an array, or who knows what, in another case


def _read_on_host(machine: Machine, tensor: Tensor) -> str:
    """The argument that a tensor is, as it came, of a function that is written for the CPU; empty for others."""
    node = tensor.steps[0].node if tensor.device == TOP and tensor.steps and not tensor.moved else None
    name = node.arg if isinstance(node, ast.arg) else ""
    return name if (machine.entry_node, name) in machine.arrivals.read_on_host else ""


def _given_in(value: Value) -> Iterator[Tensor]:
    """The tensors in an argument, and what is on the CPU if it is one."""
    yield from tensors_in(value)
    held = (each for _, each in alternatives(value))
    yield from (Tensor(HOST) for each in held if _holds_host(each))


def _holds_host(value: Value) -> bool:
    return (type(value) is Unknown and value.given == HOST) or (type(value) is Loaded and value.host)


def _is_on_cpu(tensor: Tensor) -> bool:
    return on_cpu(tensor.device) or tensor.device == HOST or is_made_of_data(tensor)


def _is_told(value: Value) -> bool:
    if isinstance(value, Unknown):
        return value.given == HOST
    return not isinstance(value, Tensor) or _is_placed(value)


def _is_placed(tensor: Tensor) -> bool:
    return tensor.device != TOP or is_made_of_data(tensor)
