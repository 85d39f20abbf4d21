"""Attributes of options that a program sets to the CPU alone: ``self.train_device = "cpu"``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchdevlint.flow.scope.cuda_literals import Scope, names_cpu
from torchdevlint.flow.scope.names import last_name
from torchdevlint.source.nodes import nodes_in

_OF_ANYTHING = "device"
"""What tensors, Modules and objects of libraries have as well, whatever the code sets."""


def set_to_cpu(parts: Iterable[tuple[Scope, ast.stmt]]) -> frozenset[str]:
    """The attributes that some code sets by name, and only to the CPU, or to the same of another object.

    Nothing says them otherwise: as a keyword, or as a text, by which options are read and set.
    """
    parts = list(parts)
    if any(sets_whatever(node) for _, node in parts):
        return frozenset()
    found: dict[str, set[bool]] = {}
    for scope, node in parts:
        for name, value in stores_in(node):
            if not isinstance(value, ast.Attribute) or value.attr != name:
                found.setdefault(name, set()).add(value is not None and names_cpu(scope, value))
    on_cpu = {name for name, each in found.items() if each == {True}} - {_OF_ANYTHING}
    said = {name for _, node in parts for name in _said(node)} if on_cpu else set()
    return frozenset(on_cpu - said)


def stores_in(node: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    """The attributes that are set, each with what it is set to in a plain assignment."""
    values = {id(target): each.value for each in nodes_in(node, ast.Assign) for target in each.targets}
    values.update({id(each.target): each.value for each in nodes_in(node, ast.AnnAssign) if each.value is not None})
    for each in nodes_in(node, ast.Attribute):
        if not isinstance(each.ctx, ast.Load):
            yield each.attr, values.get(id(each))


def _said(node: ast.stmt) -> Iterator[str]:
    yield from (each.arg for call in nodes_in(node, ast.Call) for each in call.keywords if each.arg is not None)
    texts = (each.value for each in nodes_in(node, ast.Constant) if isinstance(each.value, str))
    yield from (text.lstrip("-").replace("-", "_") for text in texts)


def sets_whatever(node: ast.stmt) -> bool:
    """Whether attributes are set by names that are not written down."""
    if any(each.attr == "__dict__" for each in nodes_in(node, ast.Attribute)):
        return True
    return any(last_name(each.func) in ("setattr", "vars") for each in nodes_in(node, ast.Call))
