"""Reads by NumPy in one arm of a test of an option, whose other arm brings the same tensor to the CPU.

``build(x.cpu().numpy())`` where ``mode == "exact"``, and ``search(x.numpy())`` where it is something else: what a
caller wants done with `x` says nothing of where it is. A mere flag may go with a place, but not ``normalize``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.brought_in_arms import is_of_itself
from torchdevlint.flow.scope.brought_reads import brought_in, is_of_data, read_name
from torchdevlint.flow.scope.host_sources import comes_from_host
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.place_tests import arms_apart, asks_before
from torchdevlint.flow.scope.uses import Scope, bindings_in
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import assignments_in, inside, is_inside, is_name, nodes_in

_OF_MORE = regex(
    r"cuda|gpu|cpu|device|host|offload|distribut|parallel|shard|backend|framework|engine|torch|tensor|array|numpy"
    r"|\bnp\b|jax|\btf\b|keras|kind|type|local|remote|train|eval|infer|valid|test|onnx|trt|export",
)
"""Words of options that may go with a place: of what computes, and of when."""
_OF_VALUES = regex(
    r"precision|double|float(?:32|64)|squeeze|flatten|reshape|normali[sz]|transpose|permute|scale|round|sort|denoise|clip"
)
"""Words of flags for what is done with values, on any device."""


def brought_for_another_option(function: Scope, read: ast.Call) -> ast.Call | None:
    """``x.cpu().numpy()``, or ``x = x.cpu()``, under another option than the one under which ``x.numpy()`` is read."""
    name = read_name(read)
    if not name or name == "self" or is_of_data(name):
        return None
    found = [*brought_in(function).get(ast.dump(ast.Name(name, ast.Load())), ()), *_copied(function, name)]
    if not found or asks_before(function, read):
        return None
    return next((each for each in found if each is not read and _is_another_option(function, name, read, each)), None)


def _copied(function: Scope, name: str) -> Iterator[ast.Call]:
    """``x.detach().cpu()`` of ``x = x.detach().cpu()``."""
    for each in assignments_in(function):
        if is_name(each.targets[0], name) and isinstance(each.value, ast.Call):
            methods: list[str] = []
            node: ast.expr = each.value
            while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                methods.append(node.func.attr)
                node = node.func.value
            if is_name(node, name) and "cpu" in methods and "numpy" not in methods:
                yield each.value


def _is_another_option(function: Scope, name: str, read: ast.Call, brought: ast.Call) -> bool:
    tests = arms_apart(function, read, brought)
    asked = [each for each in tests if each is not None and (_is_option(each, name) or is_of_itself(each, name))]
    if not asked or len(asked) != len(tests) or asks_before(function, brought):
        return False
    first = min(asked, key=lambda test: test.lineno)
    if any(_binds_on_the_way(function, name, first, place) for place in (read, brought)):
        return False
    values = (each.value for each in assignments_in(function) if is_name(each.targets[0], name))
    return not any(comes_from_host(function, each) for each in values if each.lineno < first.lineno)


def _is_option(test: ast.expr, name: str) -> bool:
    """``mode == "a" and not normalize``: what is compared with constants, and flags for values."""
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not) and _is_option(test.operand, name)
    if isinstance(test, ast.BoolOp):
        return all(_is_option(each, name) for each in test.values)
    asked = test.left if isinstance(test, ast.Compare) else test
    path = dotted_path(asked)
    if path is None or path.partition(".")[0] == name or _OF_MORE.search(ast.unparse(test).lower()):
        return False
    if not isinstance(test, ast.Compare):
        return _OF_VALUES.search(path.lower()) is not None
    compared = [each for given in test.comparators for each in inside(given)]
    return all(isinstance(each, (ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Load)) for each in compared)


def _binds_on_the_way(function: Scope, name: str, test: ast.expr, place: ast.Call) -> bool:
    """Whether a name gets another value between a test and a place in one of its arms, or behind it."""
    branch = next((each for each in nodes_in(function, ast.If) if each.test is test), None)
    if branch is None:  # an expression, which binds nothing
        return False
    body, other = branch.body, branch.orelse
    if any(is_inside(place, each) for each in body):
        begin = body[0].lineno
    elif any(is_inside(place, each) for each in other):
        begin = other[0].lineno
    else:
        begin = (branch.end_lineno or branch.lineno) + 1
    values = {each.value: each.targets[0] for each in assignments_in(function)}
    own = next((target.lineno for value, target in values.items() if value is place or is_inside(place, value)), 0)
    bound = (line for line, is_bound, _ in bindings_in(function).get(name, ()) if is_bound)
    return any(begin <= line < place.lineno and line != own for line in bound)
