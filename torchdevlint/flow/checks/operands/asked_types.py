"""Tests for the type of a tensor that hurt nowhere: one beside it is true of any tensor, or it only decides to copy."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref, Seq, Value
from torchdevlint.source.nodes import assignment_of, nodes_in


def adds_nothing(frame: Frame, state: State, node: ast.Call) -> bool:
    """Whether a test beside it is true of any tensor: ``isinstance(x, torch.Tensor) or isinstance(x, ..)``."""
    for each in nodes_in(frame.function or frame.machine.tree, ast.BoolOp):
        parts = [part if isinstance(each.op, ast.Or) else _denied(part) for part in each.values]
        if node in parts and any(_is_of_any_tensor(frame, state, part, node) for part in parts):
            return True
    return False


def only_copies(frame: Frame, state: State, node: ast.Call) -> bool:
    """Whether what is of no such type is only made a tensor of: one of an accelerator is copied, and stays there.

    ``if not isinstance(mean, torch.FloatTensor): mean = torch.tensor(mean)`` is meant for numbers.
    """
    path = dotted_path(node.args[0])
    for each in nodes_in(frame.function or frame.machine.tree, ast.If):
        if path is None or each.orelse or len(each.body) != 1 or _denied(each.test) is not node:
            continue
        bound = assignment_of(each.body[0])
        if bound is not None and [dotted_path(target) for target in bound.targets] == [path]:
            return _is_copied(frame, state, bound.value, path)
    return False


def _is_copied(frame: Frame, state: State, value: ast.expr, path: str) -> bool:
    if not isinstance(value, ast.Call) or not value.args or dotted_path(value.args[0]) != path:
        return False
    called = frame.evaluate(value.func, state)
    is_placed = any(each.arg in (None, "device") for each in value.keywords)
    return called in (Ref("torch.tensor"), Ref("torch.as_tensor")) and not is_placed


def _denied(node: ast.expr) -> ast.expr | None:
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else None


def _is_of_any_tensor(frame: Frame, state: State, part: ast.expr | None, node: ast.Call) -> bool:
    """Whether a part of a test asks whether what another one asks about is a tensor at all."""
    if not isinstance(part, ast.Call) or not part.args or part.keywords:
        return False
    if ast.dump(part.args[0]) != ast.dump(node.args[0]):
        return False
    called = frame.evaluate(part.func, state)
    if called == Ref("torch.is_tensor"):
        return True
    asked = _classes(frame.evaluate(part.args[-1], state)) if called == Ref("builtins.isinstance") else []
    return any(isinstance(each, Ref) and each.name in torch_api.ANY_TENSOR for each in asked)


def _classes(value: Value) -> list[Value]:
    return list(value.items or ()) if isinstance(value, Seq) else [value]
