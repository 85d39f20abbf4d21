"""What a finding about a lost move moves: its tensors begin on the CPU, or there would be nothing to move."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from torchdevlint.runtime.execute.slots import Slot
from torchdevlint.runtime.execute.target import Target, dotted, statement_at
from torchdevlint.runtime.execute.values import Description


def moved_from_the_cpu(target: Target, slots: Sequence[Slot]) -> list[Slot]:
    """The slots, with the tensors of those that the flagged statements move on the CPU."""
    names = set(_moved(target))
    return [
        replace(slot, candidates=tuple(map(_on_the_cpu, slot.candidates))) if slot.key in names else slot
        for slot in slots
    ]


def _moved(target: Target) -> Iterator[str]:
    """The names and dotted paths that are moved, and those that loops around the statement take them from."""
    for region in (target.at, *target.also):
        path = statement_at(target.tree.body, region)
        for node in ast.walk(path[-1]) if path else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield from _held_in(node.func.value)
            elif isinstance(node, ast.comprehension):
                yield from _held_in(node.iter)
        for around in path:
            if isinstance(around, ast.For):
                yield from _held_in(around.iter)


def _held_in(node: ast.expr) -> Iterator[str]:
    """``batch`` of ``batch["x"]``, ``batch.items()`` and ``batch.x``, with the paths on the way."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            if (path := dotted(node)) is not None:
                yield path
            node = node.value
        else:
            return
    yield node.id


def _on_the_cpu(description: Description) -> Description:
    """A tensor, or the tensors in a container, where a loader would have them."""
    if description["is"] == "tensor":
        return {**description, "on": "cpu"}
    if description["is"] not in ("list", "tuple", "dict"):
        return description
    of: Any = description["of"]
    if isinstance(of, dict):
        return {**description, "of": {key: _on_the_cpu(each) for key, each in of.items()}}
    return {**description, "of": [_on_the_cpu(each) for each in of]}
