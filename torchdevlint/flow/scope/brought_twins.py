"""Reads by NumPy of what a function works out of one thing, of which it brings another result to the CPU.

``torch.mean(x, 0).numpy()`` beside ``covariance(x).cpu().numpy()``: both are where `x` is. So are two attributes of one
object, and arguments that a function makes arrays one after the other, of which it brings all others.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.brought_arguments import brought_among_arguments
from torchdevlint.flow.scope.brought_by_option import brought_for_another_option
from torchdevlint.flow.scope.brought_in_arms import (
    brought_in_another_arm,
    brought_of_another_kind,
    brought_under_twin_test,
)
from torchdevlint.flow.scope.brought_items import brought_beside_item
from torchdevlint.flow.scope.brought_origins import brought_of_origin
from torchdevlint.flow.scope.brought_reads import (
    brought_elsewhere,
    brought_in,
    brought_with,
    holder,
    is_of_data,
    is_one_thing,
)
from torchdevlint.flow.scope.names import public_path
from torchdevlint.flow.scope.place_tests import asks_before, exclude
from torchdevlint.flow.scope.uses import Scope


def brought_besides(function: Scope, read: ast.Call) -> ast.Call | None:
    """What a function brings to the CPU that is where ``x.numpy()`` reads something: the same, or what came with it."""
    for find in _FINDERS:
        if (found := find(function, read)) is not None:
            return found
    return None


_COPIES = frozenset({"cpu", "to", "cuda", "item", "tolist"})


def brought_of_one_thing(function: Scope, read: ast.Call) -> ast.Call | None:
    """What is brought to the CPU, and is made of what ``f(x).numpy()`` reads a result of."""
    brought = brought_in(function)
    key, copied = _made_of(function, read) if brought else ("", False)
    if not key or copied or asks_before(function, read):
        return None
    for each in (call for calls in brought.values() for call in calls):
        if _made_of(function, each) == (key, True) and not exclude(function, read, each):
            return each
    return None


def _made_of(function: Scope, read: ast.Call) -> tuple[str, bool]:
    """The name, or the object of the attribute, that all of an expression is made of, and whether it is copied."""
    node: ast.expr = read
    copied, worked_out = False, False
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_method(node.func):
            copied = copied or node.func.attr in _COPIES
            node = node.func.value
        elif isinstance(node, ast.Call) and len(node.args) == 1 and _is_plain(node):
            node, worked_out = node.args[0], True
        elif _is_part(node):
            node = node.value  # type: ignore[attr-defined]
        else:
            break
    if isinstance(node, ast.Attribute):
        return (holder(node) if worked_out and is_one_thing(function, node) else ""), copied
    named = worked_out and isinstance(node, ast.Name) and is_one_thing(function, node) and not is_of_data(node.id)
    return (node.id if named else ""), copied  # type: ignore[attr-defined]


def _is_part(node: ast.expr) -> bool:
    """``x[i]``, ``x.T``: what is where the whole is."""
    if isinstance(node, ast.Attribute):
        return node.attr in torch_api.TENSOR_ATTRIBUTES
    return isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant)


def _is_method(func: ast.Attribute) -> bool:
    """``x.detach`` of a name, and no function of a library."""
    return not public_path(func).startswith(("torch.", "numpy."))


def _is_plain(call: ast.Call) -> bool:
    """Whether numbers and flags are all that a function is told besides."""
    return all(isinstance(each.value, (ast.Constant, ast.UnaryOp)) for each in call.keywords)


_FINDERS = (
    brought_elsewhere,
    brought_in_another_arm,
    brought_of_another_kind,
    brought_under_twin_test,
    brought_for_another_option,
    brought_with,
    brought_beside_item,
    brought_of_origin,
    brought_of_one_thing,
    brought_among_arguments,
)
