"""Tests that decide over nothing but what does no harm where it is run in vain, or left out."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import public_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref
from torchdevlint.source.nodes import assignment_of, is_inside, keyword_of, nodes_in, once_a_node

_FREES = frozenset({"torch.cuda.empty_cache"})
_SEEDS = frozenset({"torch.cuda.manual_seed", "torch.cuda.manual_seed_all"})
"""What does nothing without CUDA; a seed that is never set is missed on a GPU."""
_SEED_ALL = frozenset({"torch.manual_seed", "torch.random.manual_seed"})
"""What seeds the GPUs as well."""
_WRAPS = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DataParallel"})


def only_tunes(frame: Frame, state: State, node: ast.expr, seeds: bool = False) -> bool:
    """Whether all that depends on a question are switches of a backend, a cache that is emptied, or `seeds` of GPUs.

    ``if device != "cpu": torch.backends.cudnn.benchmark = True``. So it is with a wrapper for one GPU alone, and with
    seeds where the file seeds all devices.
    """
    tests = [each for each in nodes_in(frame.function or frame.machine.tree, ast.If) if is_inside(node, each.test)]
    if len(tests) != 1 or tests[0].orelse:
        return False
    idle = _FREES | _SEEDS if seeds or _seeds_all(frame.machine.tree) else _FREES
    return all(_tunes(frame, state, each, idle) for each in tests[0].body)


@once_a_node
def _seeds_all(tree: ast.Module) -> bool:
    return any(public_path(each.func) in _SEED_ALL for each in nodes_in(tree, ast.Call))


def _tunes(frame: Frame, state: State, statement: ast.stmt, idle: frozenset[str]) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called = frame.evaluate(statement.value.func, state)
        return isinstance(called, Ref) and called.name in idle
    bound = assignment_of(statement)
    if bound is not None and isinstance(bound.value, ast.Call) and _wraps_for_one(frame, state, bound.value):
        return True
    target = bound.targets[0] if bound is not None else None
    held = frame.evaluate(target.value, state) if isinstance(target, ast.Attribute) else None
    return isinstance(held, Ref) and held.name.startswith("torch.backends.")


def _wraps_for_one(frame: Frame, state: State, call: ast.Call) -> bool:
    """``nn.DataParallel(net, device_ids=[0])``, which runs the model where it is."""
    ids = keyword_of(call, "device_ids")
    if not isinstance(ids, ast.List) or len(ids.elts) != 1:
        return False
    called = frame.evaluate(call.func, state)
    return isinstance(called, Ref) and called.name in _WRAPS
