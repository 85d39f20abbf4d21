"""``x is None`` and ``x == None``, which ask the same of all that PyTorch gives."""

from __future__ import annotations

import ast


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
