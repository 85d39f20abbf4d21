"""Tensors that a function makes for one purpose, of which one is put on a device and its twin is not.

Twins are what branches make for one name. A device that a function names for the one is meant for the other: nobody
else can know that they are in two places.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from torchdevlint.flow.events import FunctionEnded, Mixed
from torchdevlint.flow.facts.tensors import ANOTHER_ARM, ANOTHER_RETURN
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.names import dotted_path, mentions_device, parameter_names
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.devices import DEFAULT, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import is_created, is_of_sizes, is_told_device
from torchdevlint.flow.state.values import Choice, Conditions, Tensor, Value
from torchdevlint.patterns import regex
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_OF_ANOTHER_KIND = regex(
    r"isinstance|is_tensor|\btype\(|dtype|device|cuda|gpu|cpu|numpy|script|trac|export|hasattr| is (?:not )?None"
)
"""Tests of branches that need not give the same kind of thing."""
Part = tuple[ast.expr, Conditions, Tensor]
Held = tuple[ast.expr, Conditions, Value]


def _note_end(event: FunctionEnded) -> None:
    """``codes = torch.eye(n, device=device)`` in one branch and ``codes = torch.rand(n, n)`` in the other.

    What is called an index may stay on the CPU, but not if the very same name is put on a device in the other branch.
    """
    frame = event.frame
    if frame.entry.kind == "init":
        return
    _look(frame, event.state, ANOTHER_RETURN, frame.returned)
    ends = [*frame.exits, *([event.end] if event.end.alive else [])] if not frame.depth else []
    held = {(name, id(value)): value for end in ends for name, value in end.env.items() if type(value) is Choice}
    for (name, _), value in held.items():
        if frame.function is not None and name not in _names_that_leave(frame.function):
            _look(frame, event.state, ANOTHER_ARM, list(_made(value)))


def _made(value: Choice) -> Iterator[Held]:
    """What each arm has made for a name that still holds it at the end, with the place where it did."""
    for at, one in value.alternatives:
        node = one.steps[0].node if isinstance(one, Tensor) and one.steps else None
        if isinstance(node, ast.expr):
            yield node, at, one


@once_a_node
def _names_that_leave(function: AnyFunction) -> frozenset[str]:
    """The names of which what they hold is moved somewhere, or read on the host: ``x.to(device)``."""
    moved = (each.value for each in nodes_in(function, ast.Attribute) if each.attr in _LEAVES)
    return frozenset(each.id for each in moved if isinstance(each, ast.Name))


_LEAVES = torch_api.MOVE_METHODS | {"numpy", "tolist", "item", "type_as"}


def _is_asked_again(function: AnyFunction, made: Sequence[Held], parted: Collection[str]) -> bool:
    """Whether a test elsewhere asks for what decided: it may tell which of both is there."""
    nodes, tests = [node for node, _, _ in made], _tests_by_name(function)
    decided = {word for key in parted for word in _WORD.findall(key)}
    asking = (test for word in decided for test in tests.get(word, ()))
    return any(not any(node in nodes_in(test, type(node)) for node in nodes) for test in asking)


@once_a_node
def _tests_by_name(function: AnyFunction) -> dict[str, list[ast.If | ast.IfExp]]:
    """The branches of a function, by the names that their tests read."""
    found: dict[str, list[ast.If | ast.IfExp]] = {}
    tests: list[ast.If | ast.IfExp] = [*nodes_in(function, ast.If), *nodes_in(function, ast.IfExp)]
    for test in tests:
        for name in {each.id for each in inside(test.test) if isinstance(each, ast.Name)}:
            found.setdefault(name, []).append(test)
    return found


_WORD = regex(r"[A-Za-z_]\w*")


def _look(frame: Frame, state: State, operation: str, held: Sequence[Held]) -> None:
    made = [(node, path + at, one) for node, path, value in held for at, one in alternatives(value, path)]
    parts: list[Part] = [(node, at, one) for node, at, one in made if isinstance(one, Tensor)]
    placed = [each for each in parts if _is_placed(each[2])]
    for node, conditions, value in parts if placed else ():
        stayed = _stayed(frame, value) and (all(map(is_of_sizes, value.creations)) or _is_of_the_host(operation, value))
        twins = [each for each in (placed if stayed else ()) if _may_part(frame, conditions, node, each)]
        path, twin = dotted_path(node), next(iter(twins), None)
        if twin is None or (is_bookkeeping(path) and path != dotted_path(twin[0])):
            continue
        function = frame.function if operation == ANOTHER_ARM else None
        if function is None or not _is_asked_again(function, held, _parting(conditions, twin[1])):
            frame.machine.emit(Mixed(frame, state, node, operation, (node, value), (twin[0], twin[2])))


def _is_of_the_host(operation: str, value: Tensor) -> bool:
    """``torch.from_numpy(a)`` under a name that another arm puts on a device: it is on the CPU, whoever calls."""
    makers = {site.function.rpartition(".")[2] for site in value.creations}
    return operation == ANOTHER_ARM and makers <= torch_api.CPU_FACTORIES


def _parting(one: Conditions, other: Conditions) -> frozenset[str]:
    """The tests at which the ways to two places part; what both have come through says nothing of either."""
    return frozenset(key for key, _ in set(one) ^ set(other))


def _may_part(frame: Frame, conditions: Conditions, node: ast.expr, twin: Part) -> bool:
    """Whether the tests at which the ways to two twins part ask for no kind of thing and no place.

    Where they do ask for that, another place may be meant. That an argument is missing is none of these, if the place
    of the twin is known there all the same.
    """
    parting = _parting(conditions, twin[1])
    asked = [key for key in parting if _OF_ANOTHER_KIND.search(key)]
    if not parting or not asked:
        return bool(parting)
    here = [key.partition(":")[2] for key in asked if (key, True) in conditions]
    missing = {text.removesuffix(" is None") for text in here if text.endswith(" is None")}
    given = parameter_names(frame.function) if frame.function is not None else ()
    if len(missing) < len(asked) or not missing.issubset(given) or any(map(mentions_device, missing)):
        return False
    return _is_known_at(frame, twin[2].device.name, node, missing)


def _is_known_at(frame: Frame, device: str, node: ast.expr, missing: Collection[str]) -> bool:
    """Whether what names a device is bound before a place: an attribute of `self`, an argument, a name from above."""
    root = device.partition(".")[0]
    if frame.function is None or root in missing or not root.isidentifier():
        return False
    bound = [at for at, stored, _ in bindings_in(frame.function).get(root, ()) if stored]
    return root == "self" or root in parameter_names(frame.function) or (bool(bound) and max(bound) < node.lineno)


def _is_placed(value: Tensor) -> bool:
    """Whether it was made by a factory, and the code says where it is."""
    given = value.device.origin in (Origin.EXPRESSION, Origin.LITERAL) and not on_cpu(value.device)
    return given and is_created(value)


def _stayed(frame: Frame, value: Tensor) -> bool:
    """Whether it was made by factories of this function alone, without a device."""
    here = all(site.scope == frame.scope and not site.drawn and not is_told_device(site) for site in value.creations)
    sized = bool(value.ndim) or (
        value.ndim is None and all(site.function == "torch.from_numpy" for site in value.creations)
    )
    return value.device == DEFAULT and sized and bool(value.creations) and here


EVENTS = {FunctionEnded: _note_end}
