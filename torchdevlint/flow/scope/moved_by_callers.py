"""Arguments that all callers in one file bring to a device before they give them to a function."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.call_sites import calls_of, given_to
from torchdevlint.flow.scope.names import last_name, mentions_cuda, mentions_device
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import is_inside, own_assignments_in


def is_moved_by_callers(tree: ast.Module, function: FunctionNode, name: str) -> bool:
    """Whether a file calls a function, and each call gives it what was moved: ``x = x.to(device); step(x)``."""
    calls = calls_of(tree, function.name)
    return bool(calls) and all(_is_moved(tree, call, given_to(call, function, name)) for call in calls)


def _is_moved(tree: ast.Module, call: ast.Call, given: ast.expr | None) -> bool:
    if not isinstance(given, ast.Name):
        return _is_move(given)
    functions = functions_in(tree)
    holders = [each for each in functions if is_inside(call, each)]
    scope = max(holders, key=lambda each: each.lineno) if holders else tree
    places = bindings_in(scope).get(given.id, ())
    last = max((line for line, is_bound, _ in places if is_bound and line < call.lineno), default=0)
    return any(
        _binds(target, given.id, last) and _is_move(each.value)
        for each in own_assignments_in(scope)
        for target in each.targets
    )


def _binds(target: ast.expr, name: str, line: int) -> bool:
    return isinstance(target, ast.Name) and target.id == name and target.lineno == line


def _is_move(node: ast.expr | None) -> bool:
    """Whether an expression brings something to a device that it names, which may not be the CPU."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr != "to":
        return node.func.attr in torch_api.DEVICE_METHODS and node.func.attr != "cpu"
    given = [*node.args[:1], *(each.value for each in node.keywords if each.arg == "device")]
    names = [str(each.value) if isinstance(each, ast.Constant) else last_name(each) for each in given]
    return any(mentions_device(each) or mentions_cuda(each) for each in names)
