"""Tensors that a function makes for one purpose, of which one is put on a device and its twin is not.

Twins are what branches make for one name, and what is made in one way and returned in one tuple, dict or object. A
device that a function names for the one is meant for the other: nobody else can know that they are in two places.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain

from torchdevlint.flow.events import FunctionEnded, Mixed, Returned
from torchdevlint.flow.facts.tensors import ANOTHER_RETURN, SAME_RETURN
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.state.devices import DEFAULT, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import is_created, is_of_sizes, is_told_device
from torchdevlint.flow.state.values import Conditions, Map, Seq, Tensor, Value
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import nodes_in

_OF_ANOTHER_KIND = regex(
    r"isinstance|is_tensor|\btype\(|dtype|device|cuda|gpu|cpu|numpy|script|trac|export|hasattr| is (?:not )?None"
)
"""Tests of branches that need not give the same kind of thing."""
_MOST_PARTS = 12
_LEAST_PLACED = 2
_MATRIX = 2
"""What has so many dimensions is no list of lengths or steps, whatever it is as large as."""

_OF_FLOATS = frozenset({"rand", "randn"})

Part = tuple[ast.expr, Conditions, Tensor]


def _note_end(event: FunctionEnded) -> None:
    """``codes = torch.eye(n, device=device)`` in one branch and ``codes = torch.rand(n, n)`` in the other.

    What is called an index may stay on the CPU, but not if the very same name is put on a device in the other branch.
    """
    frame = event.frame
    if frame.entry.kind == "init":
        return
    made = [(node, at, one) for node, path, value in frame.returned for at, one in alternatives(value, path)]
    parts: list[Part] = [(node, at, one) for node, at, one in made if isinstance(one, Tensor) and _is_plain(at)]
    placed = [each for each in parts if _is_placed(each[2])]
    if not placed:
        return
    for node, conditions, value in parts:
        path, twin = dotted_path(node), next((each for each in placed if each[1] != conditions), None)
        stayed = _stayed(frame, value) and all(map(is_of_sizes, value.creations))
        if twin is not None and stayed and not (is_bookkeeping(path) and path != dotted_path(twin[0])):
            frame.machine.emit(Mixed(frame, event.state, node, ANOTHER_RETURN, (node, value), (twin[0], twin[2])))


def _note_returned(event: Returned) -> None:
    """``return torch.tensor(a).to(device), torch.tensor(b).to(device), torch.tensor(c)``."""
    frame = event.frame
    if frame.entry.kind == "init":
        return
    parts = list(_parts(frame, event.state, event.node, event.value))
    placed = [each for each in parts if _is_placed(each[1])]
    if len(placed) < _LEAST_PLACED or len({each[1].device for each in placed}) > 1:
        return
    names = _names(event.node)
    ways = {each.steps[0].made_by for _, each in placed}
    for at, value in parts:
        alike = ways.issuperset(site.function for site in value.creations)
        if not _stayed(frame, value) or not (alike or _is_calculated_with(value)):
            continue
        counted = (value.ndim or 0) < _MATRIX and any(_reads_bookkeeping(site.node) for site in value.creations)
        if counted or is_bookkeeping(dotted_path(at)) or is_bookkeeping(names.get(at)):
            continue
        frame.machine.emit(Mixed(frame, event.state, event.node, SAME_RETURN, (at, value), placed[0]))


def _is_calculated_with(value: Tensor) -> bool:
    """Whether it has rows, and factories of floats made it: no index, and no list of lengths."""
    makers = {site.function.rpartition(".")[2] for site in value.creations}
    return (value.ndim or 0) >= _MATRIX and makers <= _OF_FLOATS and all(map(is_of_sizes, value.creations))


def _names(node: ast.expr) -> dict[ast.expr, str]:
    """What the parts of a dict or of an object are called where they are written out."""
    if isinstance(node, ast.Dict):
        named = zip(node.keys, node.values, strict=True)
        return {each: str(key.value) for key, each in named if isinstance(key, ast.Constant)}
    return {each.value: each.arg or "" for each in node.keywords} if isinstance(node, ast.Call) else {}


def _reads_bookkeeping(made: ast.AST) -> bool:
    """Whether a factory is given a length or the like, as in ``torch.zeros(num_steps)``."""
    names = map(dotted_path, chain(nodes_in(made, ast.Name), nodes_in(made, ast.Attribute)))
    return any(map(is_bookkeeping, names))


def _parts(frame: Frame, state: State, node: ast.expr, value: Value) -> Iterator[tuple[ast.expr, Tensor]]:
    """The tensors of a tuple, list, dict or object that is written out, each with its expression."""
    pairs: list[tuple[ast.expr, Value]] = []
    if isinstance(node, (ast.Tuple, ast.List)) and isinstance(value, Seq) and value.items is not None:
        pairs = list(zip(node.elts, value.items, strict=False)) if len(node.elts) <= _MOST_PARTS else []
    elif isinstance(node, ast.Dict) and isinstance(value, Map):
        held = dict(value.items)
        named = zip(node.keys, node.values, strict=True)
        pairs = [(each, held[key.value]) for key, each in named if isinstance(key, ast.Constant) and key.value in held]
    elif isinstance(node, ast.Call) and last_name(node.func)[:1].isupper():
        given = (*node.args, *(each.value for each in node.keywords))
        made = [each for each in given if isinstance(each, ast.Call)]
        few = _LEAST_PLACED < len(made) <= _MOST_PARTS
        pairs = [(each, frame.evaluate(each, state)) for each in made if few]
    yield from ((at, each) for at, each in pairs if isinstance(each, Tensor))


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
    return value.device == DEFAULT and bool(value.ndim) and bool(value.creations) and here


EVENTS = {FunctionEnded: _note_end, Returned: _note_returned}
