"""Tensors that a function makes for one purpose, of which one is put on a device and its twin is not.

Twins are what branches make for one name. A device that a function names for the one is meant for the other: nobody
else can know that they are in two places.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchdevlint.flow.events import FunctionEnded, Mixed
from torchdevlint.flow.facts.tensors import ANOTHER_ARM, ANOTHER_RETURN
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.devices import DEFAULT, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame, FunctionNode
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import is_created, is_of_sizes, is_told_device
from torchdevlint.flow.state.values import Choice, Conditions, Tensor, Value
from torchdevlint.patterns import regex
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
            made = list(_made(value))
            if not any(_is_asked_again(frame.function, made, at) for _, at, _ in made):
                _look(frame, event.state, ANOTHER_ARM, made)


def _made(value: Choice) -> Iterator[Held]:
    """What each arm has made for a name that still holds it at the end, with the place where it did."""
    for at, one in value.alternatives:
        node = one.steps[0].node if isinstance(one, Tensor) and one.steps else None
        if isinstance(node, ast.expr):
            yield node, at, one


@once_a_node
def _names_that_leave(function: FunctionNode) -> frozenset[str]:
    """The names of which what they hold is moved somewhere, or read on the host: ``x.to(device)``."""
    moved = (each.value for each in nodes_in(function, ast.Attribute) if each.attr in _LEAVES)
    return frozenset(each.id for each in moved if isinstance(each, ast.Name))


_LEAVES = torch_api.MOVE_METHODS | {"numpy", "tolist", "item", "type_as"}


def _is_asked_again(function: FunctionNode, made: list[Held], conditions: Conditions) -> bool:
    """Whether a test elsewhere asks for what decided: it may tell which of both is there."""
    nodes, tests = [node for node, _, _ in made], _tests_by_name(function)
    decided = {word for key, _ in conditions for word in _WORD.findall(key)}
    asking = (test for word in decided for test in tests.get(word, ()))
    return any(not any(node in nodes_in(test, type(node)) for node in nodes) for test in asking)


@once_a_node
def _tests_by_name(function: FunctionNode) -> dict[str, list[ast.If | ast.IfExp]]:
    """The branches of a function, by the names that their tests read."""
    found: dict[str, list[ast.If | ast.IfExp]] = {}
    tests: list[ast.If | ast.IfExp] = [*nodes_in(function, ast.If), *nodes_in(function, ast.IfExp)]
    for test in tests:
        for name in {each.id for each in inside(test.test) if isinstance(each, ast.Name)}:
            found.setdefault(name, []).append(test)
    return found


_WORD = regex(r"[A-Za-z_]\w*")


def _look(frame: Frame, state: State, operation: str, held: Iterable[Held]) -> None:
    made = [(node, path + at, one) for node, path, value in held for at, one in alternatives(value, path)]
    parts: list[Part] = [(node, at, one) for node, at, one in made if isinstance(one, Tensor)]
    placed = [each for each in parts if _is_placed(each[2]) and _is_plain(each[1])]
    if not placed:
        return
    for node, conditions, value in parts:
        path, twin = dotted_path(node), next((each for each in placed if each[1] != conditions), None)
        stayed = _stayed(frame, value) and (all(map(is_of_sizes, value.creations)) or _is_of_the_host(operation, value))
        stayed = stayed and _is_plain(conditions)
        if twin is not None and stayed and not (is_bookkeeping(path) and path != dotted_path(twin[0])):
            frame.machine.emit(Mixed(frame, state, node, operation, (node, value), (twin[0], twin[2])))


def _is_of_the_host(operation: str, value: Tensor) -> bool:
    """``torch.from_numpy(a)`` under a name that another arm puts on a device: it is on the CPU, whoever calls."""
    makers = {site.function.rpartition(".")[2] for site in value.creations}
    return operation == ANOTHER_ARM and makers <= torch_api.CPU_FACTORIES


def _is_plain(conditions: Conditions) -> bool:
    """Whether no branch on the way asks for what a value is or where: then another place may be meant."""
    return not any(_OF_ANOTHER_KIND.search(key) for key, _ in conditions)


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
