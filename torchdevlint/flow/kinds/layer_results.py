"""Modules whose `forward` surely gives what a layer of theirs gives, whatever it was given: a tensor where they are."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, public_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.source.nodes import nodes_in, own_nodes_in

_ONE_TENSOR = torch_api.PARAMETER_MODULES - torch_api.PAIR_MODULES
_OF_TENSORS = torch_api.METHOD_TENSOR | torch_api.FUNCTIONAL_TENSOR | torch_api.TORCH_TENSOR
_LEAVES = torch_api.MOVE_METHODS | {"numpy", "tolist", "item"}
_MAX_HOPS = 8


def ends_in_layers(info: ClassInfo) -> bool:
    """Whether each `return` of `forward` gives what a layer of torch.nn made, which the class builds."""
    method = info.all_methods.get("forward", (None, None))[1]
    if method is None or method.decorator_list or any(each.attr in _LEAVES for each in nodes_in(method, ast.Attribute)):
        return False
    given = [each.value for each in own_nodes_in(method, ast.Return)]
    return bool(given) and all(each is not None and _is_of_layer(info, method, each) for each in given)


def _is_of_layer(info: ClassInfo, method: ast.AST, node: ast.expr, hops: int = _MAX_HOPS) -> bool:
    """Whether an expression is what a layer gave, or is calculated from it alone: ``torch.sigmoid(self.out(x))``."""
    if hops == 0:
        return False
    if isinstance(node, ast.Name):
        values = values_by_path(method).get(node.id, [])
        return bool(values) and all(_is_of_layer(info, method, each, hops - 1) for each in values)
    if isinstance(node, ast.Subscript):
        return _is_of_layer(info, method, node.value, hops - 1)
    if isinstance(node, ast.BinOp):
        return any(_is_of_layer(info, method, each, hops - 1) for each in (node.left, node.right))
    if not isinstance(node, ast.Call):
        return False
    path = dotted_path(node.func) or ""
    if path.startswith("self.") and path.count(".") == 1:
        makers = _makers(info, path)
        if makers and makers <= torch_api.PARAMETER_FREE_MODULES:
            return bool(node.args) and _is_of_layer(info, method, node.args[0], hops - 1)
        return bool(makers) and makers <= _ONE_TENSOR
    head, _, tail = public_path(node.func).rpartition(".")
    if head in ("torch", "torch.nn.functional"):
        calculates = tail in _OF_TENSORS and bool(node.args)
        return calculates and _is_of_layer(info, method, node.args[0], hops - 1)
    is_method = isinstance(node.func, ast.Attribute) and node.func.attr in torch_api.METHOD_TENSOR
    return is_method and _is_of_layer(info, method, node.func.value, hops - 1)  # type: ignore[attr-defined]


def _makers(info: ClassInfo, path: str) -> set[str]:
    """The classes of torch.nn that an attribute holds objects of; none where it may hold something else."""
    values = [value for each in info.mro for value in values_by_path(each.node).get(path, [])]
    made = [public_path(each.func) if isinstance(each, ast.Call) else "" for each in values]
    return {each.rpartition(".")[2] for each in made} if all(each.startswith("torch.nn.") for each in made) else set()
