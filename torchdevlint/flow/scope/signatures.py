"""Whether a call fits the parameters of a function: Python raises TypeError where it does not, on any device."""

from __future__ import annotations

import ast
from collections.abc import Collection

from torchdevlint.flow.scope.names import defaults, positional_names

SPREAD = frozenset({"*", "**"})
"""Names that stand for arguments of which nobody knows how many they are."""


def takes(
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, count: int, keywords: Collection[str]
) -> bool:
    """Whether a function can be called with `count` arguments by position, and with these names besides."""
    if not SPREAD.isdisjoint(keywords):
        return True
    spec = function.args
    names = positional_names(function)
    only_by_position = {each.arg for each in spec.posonlyargs}
    by_name = {*names, *(each.arg for each in spec.kwonlyargs)} - only_by_position
    if count > len(names) and spec.vararg is None:
        return False
    if spec.kwarg is None and not by_name.issuperset(keywords):
        return False
    if not set(names[:count]).isdisjoint(by_name.intersection(keywords)):
        return False
    have_default = {name for name, _ in defaults(function)}
    needed = {*names[count:], *(each.arg for each in spec.kwonlyargs)}
    return needed <= have_default | (by_name & set(keywords))
