"""Functions that give one of two arguments, ``default(value, fallback)``: the caller's own things, and its choice."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import last_name, positional_names
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_ASKS = frozenset({"exists", "is_none", "not_none", "is_not_none", "callable", "isfunction", "is_function"})
"""What such functions ask of an argument, as a second witness beside their being one."""


@once_a_node
def gives_an_argument(function: ast.AST) -> bool:
    """Whether a function returns nothing but its two arguments, by a test for None of the first."""
    if not isinstance(function, ast.FunctionDef) or len(positional_names(function)) != 2:
        return False
    names = positional_names(function)
    returned = [part for each in nodes_in(function, ast.Return) for part in _parts(each.value)]
    given = [each.func if isinstance(each, ast.Call) and not each.args else each for each in returned]
    if not given or not all(isinstance(each, ast.Name) and each.id in names for each in given):
        return False
    tests = [each.test for each in inside(function) if isinstance(each, (ast.If, ast.IfExp))]
    return bool(tests) and _asks(tests[0], names[0]) and all(any(_asks(each, name) for name in names) for each in tests)


def _parts(value: ast.expr | None) -> list[ast.expr | None]:
    return [*_parts(value.body), *_parts(value.orelse)] if isinstance(value, ast.IfExp) else [value]


def _asks(test: ast.expr, name: str) -> bool:
    """``value is not None``, ``exists(value)``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.Compare):
        asked, against = test.left, test.comparators[0]
        of_none = isinstance(against, ast.Constant) and against.value is None
        return of_none and isinstance(asked, ast.Name) and asked.id == name
    asked_of = test.args[0] if isinstance(test, ast.Call) and len(test.args) == 1 else None
    return isinstance(asked_of, ast.Name) and asked_of.id == name and last_name(test.func) in _ASKS  # type: ignore[attr-defined]
