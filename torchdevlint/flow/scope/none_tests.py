"""``x is None`` and ``x == None``, which ask the same of all that PyTorch gives."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import dotted_path, names_one_of
from torchdevlint.source.nodes import assignment_of, nodes_in


def none_test(test: ast.expr) -> bool | None:
    """True for ``x is None`` and ``x == None``, False for what denies one of them, None for any other test.

    A tensor that is compared with None by ``==`` is not compared element by element: it is not None.
    """
    if not isinstance(test, ast.Compare) or len(test.ops) > 1:
        return None
    right = test.comparators[0]
    if not isinstance(right, ast.Constant) or right.value is not None:
        return None
    return _OUTCOMES.get(type(test.ops[0]))


_OUTCOMES: dict[type, bool] = {ast.Is: True, ast.Eq: True, ast.IsNot: False, ast.NotEq: False}


def asked_for_none(test: ast.expr) -> str:
    """The name that a test asks for None, either way: `x` of ``x is None`` and of ``x is not None``; empty if none."""
    asks = isinstance(test, ast.Compare) and none_test(test) is not None
    return test.left.id if asks and isinstance(test.left, ast.Name) else ""  # type: ignore[attr-defined]


def is_made_for_none(function: ast.AST, name: str) -> bool:
    """Whether a function gives a parameter a value where it is None: ``if x is None: x = torch.zeros(n)``."""
    arms = (each.body for each in nodes_in(function, ast.If) if _asks_of(each.test, name))
    made = (each for arm in arms for statement in arm if (each := assignment_of(statement)) is not None)
    return any(names_one_of(name, each.targets) for each in made)


def _asks_of(test: ast.expr, name: str) -> bool:
    return isinstance(test, ast.Compare) and none_test(test) is True and dotted_path(test.left) == name
