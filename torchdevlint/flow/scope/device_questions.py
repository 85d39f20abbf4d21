"""What the text of a function asks of devices: for a number, for a name among others, for the type of a tensor."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.asserted import asked_in
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

QUESTIONS = frozenset(
    f"torch.{name}"
    for name in (
        "cuda.is_available",
        "xpu.is_available",
        "accelerator.is_available",
        "backends.mps.is_available",
        "backends.mps.is_built",
        "distributed.is_available",
        "distributed.is_initialized",
    )
)
"""Functions that answer True or False."""
COUNTS = frozenset(
    f"torch.{name}"
    for name in (
        "cuda.device_count",
        "cuda.current_device",
        "xpu.device_count",
        "xpu.current_device",
        "accelerator.device_count",
        "mps.device_count",
        "distributed.get_rank",
        "distributed.get_world_size",
    )
)
"""Functions that give a number."""


@once_a_node
def branched_by(tree: ast.Module) -> frozenset[ast.expr]:
    """What the branches and conditional expressions of a file ask for its truth."""
    branches: list[ast.If | ast.IfExp] = [*nodes_in(tree, ast.If), *nodes_in(tree, ast.IfExp)]
    return frozenset(one for each in branches for one in asked_in(each.test))


@once_a_node
def demanded(function: ast.AST) -> frozenset[str]:
    """What a function refuses unless it is of a type: ``assert isinstance(x, ..)``, ``if not ..: raise``.

    Whoever calls it brings a tensor of the CPU.
    """
    tests = [each.test for each in nodes_in(function, ast.Assert)]
    refused = [each.test for each in nodes_in(function, ast.If) if isinstance(each.body[-1], ast.Raise)]
    tests += [each.operand for each in refused if isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.Not)]
    calls = (each for test in tests for each in inside(test) if isinstance(each, ast.Call) and each.args)
    return frozenset(ast.dump(each.args[0]) for each in calls if dotted_path(each.func) == "isinstance")


def is_list_of_names(scope: ast.AST, node: ast.Compare) -> bool:
    """``device == ["cuda", "mps"]`` of names of devices, where the function compares the same with one string."""
    wanted = node.comparators[0]
    if not isinstance(node.ops[0], (ast.Eq, ast.NotEq)) or not isinstance(wanted, (ast.List, ast.Tuple, ast.Set)):
        return False
    names = [each.value if isinstance(each, ast.Constant) else None for each in wanted.elts]
    if not all(isinstance(each, str) for each in names) or torch_api.DEVICE_TYPES.isdisjoint(names):
        return False
    shape = ast.dump(node.left)
    others = nodes_in(scope, ast.Compare)
    return any(ast.dump(each.left) == shape and _is_held_against_text(each) for each in others)


def _is_held_against_text(node: ast.Compare) -> bool:
    wanted = node.comparators[0]
    is_text = isinstance(wanted, ast.Constant) and isinstance(wanted.value, str)
    return is_text and isinstance(node.ops[0], (ast.Eq, ast.NotEq))
