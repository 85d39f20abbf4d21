"""Results of arithmetic that may be Python numbers: of the parts that a module of unknown class gave."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import unpacked_to, values_by_path
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Tensor
from torchdevlint.flow.vouch.devices import evaluated_silently


def may_be_number(frame: Frame, state: State, node: ast.expr) -> bool:
    """Whether arithmetic has no operand that is a tensor and no part of a result, which may be a count.

    ``loss, count = criterion(out, y)`` gives a tensor and a number, so ``sum(counts) / 2`` is a number. A name is what
    the only assignment says that its function has for it.
    """
    if isinstance(node, ast.Name):
        made = values_by_path(frame.function or frame.machine.tree).get(node.id, ())
        node = made[0] if len(made) == 1 else node
    if not isinstance(node, ast.BinOp):
        return False
    for operand in (node.left, node.right):
        value = evaluated_silently(frame, state, operand)
        held = [] if value is None else [each for _, each in alternatives(value, state.conditions)]
        tensors = [each for each in held if isinstance(each, Tensor)]
        if tensors and not (all(each.opaque for each in tensors) and _is_part(frame, operand)):
            return False
    return True


def _is_part(frame: Frame, node: ast.expr) -> bool:
    """Whether an operand is a name that results are unpacked to, or the sum of a list of such."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "sum"
    return isinstance(node, ast.Name) and any(unpacked_to(frame.function or frame.machine.tree, node.id))
