"""Calls that draw random numbers, by the name of what is called: ``torch.bernoulli(p)``, ``x.normal_()``, `dropout`."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import last_name
from torchdevlint.flow.state.values import Library, Value
from torchdevlint.source.nodes import nodes_in

_KNOWN: dict[str, bool] = {}
"""What was found for each name, of which a program has few."""


def is_drawn_by(node: ast.Call, callee: Value) -> bool:
    """Whether a call of this value, or of a method of it, may draw random numbers."""
    named = node.func
    name = named.attr if type(named) is ast.Attribute else named.id if type(named) is ast.Name else ""
    known = _KNOWN.get(name)
    if known or (known is None and is_drawing(name)):
        return True
    return type(callee) is Library and is_drawing(callee.name)


def draws(function: ast.AST) -> bool:
    """Whether the code of a function draws random numbers anywhere, as far as the names say it that it calls."""
    names = (last_name(each.func) for each in nodes_in(function, ast.Call))
    return any(is_drawing(each) or each in torch_api.RANDOM_FACTORIES for each in names)


def is_drawing(name: str) -> bool:
    """Whether a function, method or class with that name draws random numbers, as far as the name says it."""
    known = _KNOWN.get(name)
    if known is None:
        last = name.rpartition(".")[2]
        known = _KNOWN[name] = "drop" in last.lower() or last.removesuffix("_") in torch_api.DRAWING
    return known
