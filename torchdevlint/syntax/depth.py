"""How deeply a tree is nested, found without recursion.

Everything after parsing walks recursively, so what is too deep is refused here. The deepest file among 8,000 of the
standard library, torch and sympy has 230 levels (a sum of 220 terms), and one in a thousand has more than 60.
"""

from __future__ import annotations

import ast

from torchdevlint.source.nodes import levels_in
from torchdevlint.syntax.errors import TooDeepError

DEPTH_LIMIT = 250
"""Levels of nodes, of which each may cost a walker three frames of Python's default thousand."""


def check_depth(tree: ast.AST, limit: int = DEPTH_LIMIT) -> None:
    """Raises TooDeepError for a tree of more than `limit` levels of nodes that have a position."""
    if levels_in(tree) >= limit:
        raise TooDeepError
