"""Tensors that are held against what is on the CPU by its text: brought there, or made there by a factory."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import has_stars, is_cpu_spec, last_name, public_path
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.source.nodes import arguments_of, assignments_in, is_name, keyword_of, nodes_in, once_a_node

_READS = frozenset("item len numpy size tolist".split())
"""What gives no tensor that could meet another one."""
_OF_SIZES = torch_api.SIZE_FACTORIES | torch_api.VECTOR_FACTORIES | torch_api.MATRIX_FACTORIES
_LEAVES = torch_api.MOVE_METHODS | _READS


def meets_what_came_back(scope: Scope, name: str, first: int) -> bool:
    """Whether, from a line on, a tensor meets what ``.cpu()`` or a factory gives: ``labels == out.cpu()``.

    A name counts that all assignments in the scope bind to what came back. Such an operation fails once the tensor is
    elsewhere, whatever the inference knows of the other one.
    """
    return _last_meetings(scope).get(name, 0) >= first


@once_a_node
def _last_meetings(scope: Scope) -> dict[str, int]:
    """For the names of tensors that meet what came back: the last line where they do."""
    found: dict[str, int] = {}
    back = _brought_back(scope)
    for node in _operations(scope):
        operands = list(_operands(node))
        left = [each for each in operands if not _is_back(each, back)]
        if len(left) < len(operands):
            for name in filter(None, map(_name_of_tensor, left)):
                found[name] = max(found.get(name, 0), node.lineno)
    return found


def _operations(scope: Scope) -> Iterator[ast.BinOp | ast.Compare | ast.Call]:
    yield from nodes_in(scope, ast.BinOp)
    yield from nodes_in(scope, ast.Compare)
    yield from nodes_in(scope, ast.Call)


def _operands(node: ast.BinOp | ast.Compare | ast.Call) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.Compare):
        yield from (node.left, *node.comparators)
    else:
        yield from arguments_of(node)
        if isinstance(node.func, ast.Attribute):
            yield node.func.value


def _name_of_tensor(node: ast.expr) -> str | None:
    """The name of a tensor that an operand is, or is made of by methods that leave it where it is: ``y.view(-1)``."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Call):
            if last_name(node.func) in _LEAVES:
                return None
            node = node.func
        else:
            node = node.value
    return node.id if isinstance(node, ast.Name) else None


@once_a_node
def _brought_back(scope: Scope) -> frozenset[str]:
    """The names that all assignments of a scope bind to what was brought to the CPU, or is made of that."""
    found: dict[str, bool] = {}
    for each in sorted(assignments_in(scope), key=lambda one: one.lineno):
        known = frozenset(name for name, is_back in found.items() if is_back)
        for target in each.targets:
            parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            for part in parts:
                if isinstance(part, ast.Name):
                    found[part.id] = found.get(part.id, True) and each.value is not None and _is_back(each.value, known)
    return frozenset(name for name, is_back in found.items() if is_back)


def _is_back(node: ast.expr, names: frozenset[str]) -> bool:
    """Whether an expression gives what is on the CPU: ``out.cpu()``, or what methods and functions make of that."""
    while True:
        if isinstance(node, ast.Name):
            return node.id in names
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        elif isinstance(node, ast.Call):
            called = last_name(node.func)
            if called == "cpu" or _is_made_there(node):
                return True
            if called in _READS:
                return False
            if called in torch_api.MOVE_METHODS:
                return any(map(is_cpu_spec, arguments_of(node)))
            if not isinstance(node.func, ast.Attribute):
                return False
            node = node.args[0] if node.args and is_name(node.func.value, "torch") else node.func.value
        else:
            return False


def _is_made_there(call: ast.Call) -> bool:
    """Whether a factory of sizes is told no device; what is made of a number goes with tensors of any device."""
    path = public_path(call.func)
    is_sized = path.startswith("torch.") and path.removeprefix("torch.") in _OF_SIZES
    return is_sized and keyword_of(call, "device") is None and not has_stars(call)
