"""What a test around a place says of a tensor there: below ``if x.is_cuda:`` it is on an accelerator.

It still is where it was bound anew to what methods of tensors gave of it that move nothing, ``x = x.detach()``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import device_spec, dotted_path, is_cpu_spec
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.source.nodes import assignment_of, inside, is_inside, nodes_in, once_a_node

_ON_ACCELERATOR = frozenset("is_cuda is_xpu is_mps is_hpu is_xla".split())
_MOVES = torch_api.MOVE_METHODS | {"type_as", "new_tensor", "item", "tolist", "numpy"}
_OF_TENSORS = frozenset({"data", "T", "mT", "real", "imag", "grad"})
"""Attributes of a tensor that are tensors in the same place."""
_EQUAL, _UNEQUAL = (ast.Eq, ast.Is), (ast.NotEq, ast.IsNot)


def on_tested_accelerator(function: Scope, node: ast.expr) -> tuple[str, ast.expr] | None:
    """``x.device`` of what is on an accelerator there, and the test that says so, such as ``x.is_cuda``."""
    branches = _branches(function)
    path = _path_of(node) if branches else None
    if path is None or path == "self":
        return None
    for branch in branches:
        for arm, holds in ((_nodes(branch.body), True), (_nodes(branch.orelse), False)):
            if any(each is node or is_inside(node, each) for each in arm) and path in _off_host(branch.test, holds):
                return None if _is_bound_anew(arm, path, node) else (f"{path}.device", branch.test)
    return None


@once_a_node
def _branches(function: Scope) -> list[ast.If | ast.IfExp]:
    """The branches of a function by which some tensor is on an accelerator in one of the arms."""
    branches: list[ast.If | ast.IfExp] = [*nodes_in(function, ast.If), *nodes_in(function, ast.IfExp)]
    return [each for each in branches if any(True for holds in (True, False) for _ in _off_host(each.test, holds))]


def _nodes(arm: ast.expr | list[ast.stmt]) -> Sequence[ast.AST]:
    return arm if isinstance(arm, list) else [arm]


def _off_host(test: ast.expr, holds: bool) -> Iterator[str]:
    """The tensors that are on an accelerator where a test comes out like that."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _off_host(test.operand, not holds)
    elif isinstance(test, ast.BoolOp):
        if holds is isinstance(test.op, ast.And):
            for each in test.values:
                yield from _off_host(each, holds)
    else:
        tensor = asked_off_host(test, holds)
        path = dotted_path(tensor) if tensor is not None else None
        if path is not None:
            yield path


def asked_off_host(test: ast.expr, holds: bool) -> ast.expr | None:
    """`x` of ``x.is_cuda``, ``x.device.type == "cuda"`` and ``x.device != torch.device("cpu")``.

    A device is never equal to a string.
    """
    if isinstance(test, ast.Attribute):
        return test.value if test.attr in (_ON_ACCELERATOR if holds else {"is_cpu"}) else None
    if not isinstance(test, ast.Compare) or len(test.ops) > 1:
        return None
    asked = _placed(test.left)
    if asked is None:
        return None
    tensor, is_text = asked
    named = test.comparators[0]
    spec, equal = device_spec(named), holds is isinstance(test.ops[0], _EQUAL)
    if not isinstance(test.ops[0], (*_EQUAL, *_UNEQUAL)) or (named is spec) is not is_text:
        return None
    if not equal:
        return tensor if is_cpu_spec(named) else None
    name = spec.value if isinstance(spec, ast.Constant) else None
    kind = name.partition(":")[0] if isinstance(name, str) else "cpu"
    return tensor if kind in torch_api.DEVICE_TYPES - {"cpu"} else None


def _placed(node: ast.expr) -> tuple[ast.expr, bool] | None:
    """`x` of ``x.device``, ``x.device.type`` and ``str(x.device)``, and whether the latter is a text."""
    device = node
    if isinstance(node, ast.Attribute) and node.attr == "type":
        device = node.value
    elif isinstance(node, ast.Call) and dotted_path(node.func) == "str" and len(node.args) == 1:
        device = node.args[0]
    if not isinstance(device, ast.Attribute) or device.attr != "device":
        return None
    return device.value, device is not node


def _path_of(node: ast.expr) -> str | None:
    """`x` of ``x.detach().float()`` and ``x.data``: what is in the same place."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func.attr
            if method in _MOVES or not torch_api.is_of_tensors(method) or method.startswith("_"):
                return None
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr in _OF_TENSORS:
            node = node.value
        else:
            return dotted_path(node)


def _is_bound_anew(arm: Sequence[ast.AST], path: str, read: ast.expr) -> bool:
    """Whether an arm binds a name before a place to what may be elsewhere."""
    kept: set[int] = set()
    for each in (each for top in arm for each in inside(top) if isinstance(each, ast.stmt)):
        assigned = assignment_of(each)
        if assigned is not None and (is_inside(read, each) or _path_of(assigned.value) == path):
            kept.update(id(target) for target in assigned.targets)
    stored = (
        each
        for top in arm
        for each in inside(top)
        if isinstance(each, (ast.Name, ast.Attribute)) and not isinstance(each.ctx, ast.Load) and id(each) not in kept
    )
    return any(f"{path}.".startswith(f"{dotted_path(each)}.") and each.lineno <= read.lineno for each in stored)
