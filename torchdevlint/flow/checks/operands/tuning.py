"""Tests that decide over nothing but what does no harm where it is run in vain, or left out."""

from __future__ import annotations

import ast

from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref
from torchdevlint.source.nodes import assignment_of, is_inside, nodes_in

_FREES = frozenset({"torch.cuda.empty_cache"})
_SEEDS = frozenset({"torch.cuda.manual_seed", "torch.cuda.manual_seed_all"})
"""What does nothing without CUDA; a seed that is never set is missed on a GPU."""


def only_tunes(frame: Frame, state: State, node: ast.expr, seeds: bool = False) -> bool:
    """Whether all that depends on a question are switches of a backend, a cache that is emptied, or `seeds` of GPUs.

    ``if device != "cpu": torch.backends.cudnn.benchmark = True``.
    """
    tests = [each for each in nodes_in(frame.function or frame.machine.tree, ast.If) if is_inside(node, each.test)]
    if len(tests) != 1 or tests[0].orelse:
        return False
    return all(_tunes(frame, state, each, _FREES | _SEEDS if seeds else _FREES) for each in tests[0].body)


def _tunes(frame: Frame, state: State, statement: ast.stmt, idle: frozenset[str]) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called = frame.evaluate(statement.value.func, state)
        return isinstance(called, Ref) and called.name in idle
    bound = assignment_of(statement)
    target = bound.targets[0] if bound is not None else None
    held = frame.evaluate(target.value, state) if isinstance(target, ast.Attribute) else None
    return isinstance(held, Ref) and held.name.startswith("torch.backends.")
