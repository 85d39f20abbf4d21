"""The attributes of `self` that an expression is calculated of, and is therefore where they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.knowledge import torch_api

_GOES_ON = (torch_api.METHOD_TENSOR | torch_api.TENSOR_ATTRIBUTES) - torch_api.CONVERSIONS
"""Methods and attributes of a tensor that give another one, at the same place."""


def made_of_own(node: ast.expr) -> Iterator[str]:
    """The attributes of `self` that an operand is calculated of, element by element or by a method of tensors."""
    if isinstance(node, ast.Attribute) and is_of_self(node):
        yield node.attr
    elif isinstance(node, ast.BinOp):
        yield from made_of_own(node.left)
        yield from made_of_own(node.right)
    elif isinstance(node, (ast.Subscript, ast.UnaryOp)):
        yield from made_of_own(node.value if isinstance(node, ast.Subscript) else node.operand)
    elif isinstance(node, ast.Attribute) and node.attr in _GOES_ON:
        yield from made_of_own(node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _GOES_ON:
        yield from made_of_own(node.func.value)


def is_of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"
