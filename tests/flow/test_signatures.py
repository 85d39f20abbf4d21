"""Whether a call fits a function is what Python says of it."""

from __future__ import annotations

import ast
from itertools import chain, combinations, product
from typing import Any

import pytest

from torchdevlint.flow.scope.signatures import takes

FUNCTIONS = (
    "def f(): ...",
    "def f(a, b): ...",
    "def f(a, b=1): ...",
    "def f(a, /, b): ...",
    "def f(a, *rest): ...",
    "def f(a, *, b): ...",
    "def f(a, *, b=1, **more): ...",
    "def f(a=1, /, **more): ...",
    "def f(*, c): ...",
)
NAMES = tuple(chain.from_iterable(combinations("abc", count) for count in range(4)))


@pytest.mark.parametrize("text", FUNCTIONS)
def test_a_call_fits_if_python_can_bind_it(text: str) -> None:
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    scope: dict[str, object] = {}
    exec(text, scope)
    called: Any = scope["f"]
    for count, names in product(range(4), NAMES):
        try:
            called(*range(count), **dict.fromkeys(names))
        except TypeError:
            fits = False
        else:
            fits = True
        assert takes(function, count, names) is fits, (count, names)
        assert takes(function, count, (*names, "**"))
