"""Tensors of known size: those that were made empty, and those of one element."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.state.joins import alternatives, choose
from torchdevlint.flow.state.values import Conditions, Tensor, Value


def is_one_element(value: Tensor) -> bool:
    """Whether a vector comes from a call such as ``torch.zeros(1)`` or ``torch.tensor([0.5])``."""
    return value.ndim == 1 and any(_makes_one_element(site.node) for site in value.creations)


def _makes_one_element(node: ast.AST) -> bool:
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(first, (ast.List, ast.Tuple)) and len(first.elts) == 1:
        return True
    return isinstance(first, ast.Constant) and first.value == 1


def what_is_filled(value: Value, conditions: Conditions = ()) -> Value | None:
    """`value` without what was made empty; None if nothing is left."""
    held = alternatives(value, conditions)
    left = [each for each in held if not is_made_empty(each[1])]
    return value if len(left) == len(held) else choose(left) if left else None


def is_made_empty(value: Value) -> bool:
    """Whether it is ``torch.tensor([])``, ``torch.empty(0, 4)`` or ``torch.Tensor()``, as it was made."""
    if not isinstance(value, Tensor) or len(value.creations) != 1 or len(value.steps) != 1:
        return False
    site = value.creations[0]
    maker, args = site.function.rpartition(".")[2], site.node.args if isinstance(site.node, ast.Call) else []
    listed = args[0].elts if args and isinstance(args[0], (ast.List, ast.Tuple)) else None
    if maker in torch_api.LEGACY_CONSTRUCTORS | torch_api.DATA_FACTORIES and (listed is not None or not args):
        return not listed
    sizes = args if listed is None else listed
    takes_sizes = maker in torch_api.SIZE_FACTORIES | torch_api.LEGACY_CONSTRUCTORS
    return takes_sizes and any(is_zero(each) for each in sizes)


def is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0
