"""Tensors that a function makes for one purpose, of which one is put on a device and its twin is not.

Twins are what branches make for one name. A device that a function names for the one is meant for the other: nobody
else can know that they are in two places.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.events import FunctionEnded, Mixed
from torchdevlint.flow.facts.tensors import ANOTHER_RETURN
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.devices import DEFAULT, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.tensors import is_created, is_of_sizes, is_told_device
from torchdevlint.flow.state.values import Conditions, Tensor
from torchdevlint.patterns import regex

_OF_ANOTHER_KIND = regex(
    r"isinstance|is_tensor|\btype\(|dtype|device|cuda|gpu|cpu|numpy|script|trac|export|hasattr| is (?:not )?None"
)
"""Tests of branches that need not give the same kind of thing."""
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


EVENTS = {FunctionEnded: _note_end}
