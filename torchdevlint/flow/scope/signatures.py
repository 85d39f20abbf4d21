"""Whether a call fits the parameters of a function: Python raises TypeError where it does not, on any device."""

from __future__ import annotations

import ast
from collections.abc import Collection

from torchdevlint.flow.scope.names import defaults, positional_names
from torchdevlint.source.functions import AnyFunction, FunctionNode
from torchdevlint.source.nodes import once_a_node

SPREAD = frozenset({"*", "**"})
"""Names that stand for arguments of which nobody knows how many they are."""


def takes(function: AnyFunction, count: int, keywords: Collection[str]) -> bool:
    """Whether a function can be called with `count` arguments by position, and with these names besides."""
    if not SPREAD.isdisjoint(keywords):
        return True
    spec, names = function.args, positional_names(function)
    by_name, by_name_alone, have_default = _named(function)
    if count > len(names) and spec.vararg is None:
        return False
    if spec.kwarg is None and not by_name.issuperset(keywords):
        return False
    given = by_name.intersection(keywords)
    if not given.isdisjoint(names[:count]):
        return False
    return (by_name_alone | set(names[count:])) <= have_default | given


def fits(function: FunctionNode, call: ast.Call, bound: int = 0) -> bool:
    """Whether a function takes what a call gives it, behind so many parameters that are `bound`: the object itself."""
    keywords = {each.arg or "**" for each in call.keywords}
    keywords |= {"*" for each in call.args if isinstance(each, ast.Starred)}
    return takes(function, bound + len(call.args), keywords)


@once_a_node
def _named(
    function: AnyFunction,
) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The parameters that may be given by name, those that can only be given so, and those that have a default."""
    spec = function.args
    by_name_alone = frozenset([each.arg for each in spec.kwonlyargs])
    by_name = by_name_alone.union(positional_names(function)) - {each.arg for each in spec.posonlyargs}
    return by_name, by_name_alone, frozenset([name for name, _ in defaults(function)])
