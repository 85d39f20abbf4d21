"""What a test asks for its truth, and what the asserts of a scope need to be true."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.functions import functions_in
from torchdevlint.source.nodes import nodes_in, once_a_node


@once_a_node
def asserted_in(scope: ast.AST) -> frozenset[ast.expr]:
    """The tests without which an ``assert`` fails: `a` and `b` of ``assert a and b``, `c` of ``all(c for ..)``."""
    return frozenset(one for each in nodes_in(scope, ast.Assert) for one in needed_for(each.test))


def asserts_place(scope: ast.AST | None, name: str) -> bool:
    """Whether a scope asserts that a tensor is on some device: ``assert anchors.device == torch.device(device)``."""
    asserted = asserted_in(scope) if scope is not None else ()
    equal = [each for each in asserted if isinstance(each, ast.Compare) and isinstance(each.ops[0], ast.Eq)]
    return any(dotted_path(side) == f"{name}.device" for each in equal for side in (each.left, *each.comparators))


def asserts_cuda(tree: ast.Module, line: int) -> bool:
    """Whether the function around a line asserts that something is on CUDA: by that it is for nothing else."""
    functions = functions_in(tree)
    around = [each for each in functions if each.lineno <= line <= (each.end_lineno or each.lineno)]
    asserted = (one for each in around[-1:] for one in asserted_in(each))
    return any(isinstance(each, ast.Attribute) and each.attr == "is_cuda" for each in asserted)


def needed_for(test: ast.expr) -> Iterator[ast.expr]:
    """The parts of a test that all have to be true for it, by `and` or `all`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for each in test.values:
            yield from needed_for(each)
    elif isinstance(test, ast.Call) and dotted_path(test.func) == "all" and test.args:
        yield from needed_for(test.args[0].elt if isinstance(test.args[0], ast.GeneratorExp) else test.args[0])
    else:
        yield test


def asked_in(test: ast.expr) -> Iterator[ast.expr]:
    """What a test asks for its truth."""
    if isinstance(test, ast.BoolOp):
        for each in test.values:
            yield from asked_in(each)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from asked_in(test.operand)
    else:
        yield test
