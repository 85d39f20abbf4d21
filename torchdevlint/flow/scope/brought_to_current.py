"""Names whose tensor a function has brought to the current GPU, if it is on any: ``if x.is_cuda: x = x.cuda()``."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.nodes import inside, is_name, nodes_in, own_assignments_in


def is_brought_to_current(function: ast.AST, tensor: ast.expr, line: int) -> bool:
    """Whether a name is bound to its own ``x.cuda()`` before a line, in any case or where it is on a GPU.

    Nothing else binds it in between.
    """
    name = tensor.id if isinstance(tensor, ast.Name) else None
    if name is None:
        return False
    bound = [each for each in own_assignments_in(function) if any(is_name(target, name) for target in each.targets)]
    stored = [each for each in nodes_in(function, ast.Name) if each.id == name and isinstance(each.ctx, ast.Store)]
    before = [each for each in bound if each.node.lineno < line]
    last = max(before, key=lambda each: each.node.lineno, default=None)
    if last is None or len(stored) != len(bound) or not _is_own_move(last.value, name):
        return False
    return all(_holds_on_gpu(each, name) for each in nodes_in(function, ast.If) if last.node in inside(each))


def _is_own_move(value: ast.expr, name: str) -> bool:
    """``x.cuda()``, which names no GPU."""
    is_bare = isinstance(value, ast.Call) and not value.args and not value.keywords
    return is_bare and dotted_path(value.func) == f"{name}.cuda"  # type: ignore[attr-defined]


def _holds_on_gpu(branch: ast.If, name: str) -> bool:
    """Whether a test is true where a tensor is on a GPU: ``x.is_cuda or y.is_cuda``."""
    test = branch.test
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]
    return any(dotted_path(each) == f"{name}.is_cuda" for each in parts)
