"""Whether what an object keeps under a name is brought anywhere in a file, or read on the host, by its text."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import whole_of
from torchdevlint.source.nodes import nodes_in, once_a_node

_LEAVES = torch_api.MOVE_METHODS | {"numpy", "tolist", "item"}


def leaves(tree: ast.Module, name: str) -> bool:
    """Whether anything moves an attribute of this name, or a part of it, or reads it on the host."""
    return name in _leaving(tree)


@once_a_node
def _leaving(tree: ast.Module) -> frozenset[str]:
    called = (each.func for each in nodes_in(tree, ast.Call) if isinstance(each.func, ast.Attribute))
    held = (whole_of(each.value) for each in called if each.attr in _LEAVES)
    return frozenset(each.attr for each in held if isinstance(each, ast.Attribute))
