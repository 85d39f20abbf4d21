"""Which functions of a file place anything by their text: a few of many, and what they leave behind is in them."""

from __future__ import annotations

import ast
from bisect import bisect_left

from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import nodes_in, once_a_node

_MOVES = frozenset({"to", "cuda"})


@once_a_node
def functions_that_place(tree: ast.Module) -> list[FunctionNode]:
    """The functions that say ``.to``, ``.cuda`` or ``device=`` themselves, or in what they define; in the same order.

    One that shares a line with such a word may be among them.
    """
    lines = {each.lineno for each in nodes_in(tree, ast.Attribute) if each.attr in _MOVES}
    lines |= {each.value.lineno for each in nodes_in(tree, ast.keyword) if each.arg == "device"}
    in_order = sorted(lines)
    return [each for each in functions_in(tree) if _holds_any(each, in_order)] if in_order else []


def _holds_any(function: FunctionNode, lines: list[int]) -> bool:
    """Whether a function, with its decorators, has one of these lines."""
    first = min([function.lineno, *[each.lineno for each in function.decorator_list]])
    place = bisect_left(lines, first)
    return place < len(lines) and lines[place] <= (function.end_lineno or lines[place])
