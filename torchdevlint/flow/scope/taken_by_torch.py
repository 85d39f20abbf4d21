"""What functions of torch take: an argument that can be nothing but a tensor says what was given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.source.nodes import assignments_in, once_a_node


def is_converted(function: Scope, name: str) -> bool:
    """Whether the name is bound to a tensor made of what it held: ``x = torch.tensor(x).unsqueeze(0)``."""
    return name in _converted(function)


@once_a_node
def _converted(function: Scope) -> frozenset[str]:
    return frozenset(_each_converted(function))


def _each_converted(function: Scope) -> Iterator[str]:
    for node in assignments_in(function):
        call, target = _first_call(node.value), node.targets[0]
        if not isinstance(target, ast.Name) or call is None or not call.args:
            continue
        first, made_by = call.args[0], (dotted_path(call.func) or "").rpartition(".")[2]
        if isinstance(first, ast.Name) and first.id == target.id and made_by in _MAKES_TENSOR:
            yield target.id


def _first_call(node: ast.expr) -> ast.Call | None:
    """``f(x)`` in ``f(x).g().h()``."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        node = node.func.value
    return node if isinstance(node, ast.Call) else None


_MAKES_TENSOR = torch_api.DATA_FACTORIES | torch_api.LEGACY_CONSTRUCTORS | {"from_numpy"}

_TAKES_SEVERAL = frozenset("cat stack concat hstack vstack dstack meshgrid broadcast_tensors einsum block_diag".split())
"""What has a sequence of tensors, or a text, as its first argument."""


_INDEX_AT = {
    "gather": 1, "scatter": 1, "scatter_": 1, "scatter_add": 1, "scatter_add_": 1, "index_select": 1, "index_add": 1,
    "index_add_": 1, "index_fill": 1, "index_fill_": 1, "index_copy": 1, "index_copy_": 1, "masked_fill": 0,
    "masked_fill_": 0, "masked_select": 0, "masked_scatter": 0, "masked_scatter_": 0,
}  # fmt: skip
"""Where methods that only tensors have take an index or a mask, which is a tensor as well."""


def is_index_of_method(call: ast.Call, place: int | str) -> bool:
    """Whether an argument is the index of ``logits.gather(1, target)``, or the mask of ``x.masked_fill(mask, 0)``."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _INDEX_AT:
        return False
    return place == _INDEX_AT[call.func.attr] or place in ("index", "mask")


def takes_tensor(name: str, place: int | str) -> bool:
    """Whether a library function takes nothing but a tensor as its argument at that place."""
    head, _, tail = name.rpartition(".")
    if (place != 0 and tail not in torch_api.STRICT) or (place == 0 and tail in torch_api.MAYBE_NUMBER_FIRST):
        return False
    if head == "torch.nn.functional":
        return tail in torch_api.FUNCTIONAL_TENSOR or tail in torch_api.FUNCTIONAL_TUPLE
    if head == "torch.linalg":
        return tail in torch_api.LINALG_TENSOR or tail in torch_api.LINALG_TUPLE
    if head != "torch" or tail in torch_api.FACTORIES or tail in torch_api.LIKE_FACTORIES:
        return head == "torch" and tail in torch_api.LIKE_FACTORIES
    if tail in _TAKES_SEVERAL:
        return tail == "einsum" and place not in (0, "equation")
    return tail in torch_api.TORCH_TENSOR or tail in torch_api.TORCH_TUPLE or tail in torch_api.TORCH_LIST


def takes_weight(name: str, place: int | str) -> bool:
    """Whether a class is a loss that keeps a tensor, its weight, which is given at that place."""
    head, _, tail = name.rpartition(".")
    weights = torch_api.LOSS_WEIGHTS.get(tail, {}) if head == "torch.nn" else {}
    return place in weights or place in weights.values()
