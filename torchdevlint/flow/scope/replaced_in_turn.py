"""Loops over a dict that replace each of its items in its turn.

``for key in rows: rows[key] = torch.tensor(rows[key]).to(device)``: what a round reads is what was there before the
loop, since no key comes twice.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.nodes import is_name, nodes_in, once_a_node

_VIEWS = frozenset({"keys", "items"})
_COPIES = frozenset({"list", "tuple", "sorted"})


@once_a_node
def replaced_in_turn(loop: ast.For) -> str:
    """The dict that a loop goes through and of which it binds the item of each key, and no other; empty for others."""
    holder, key = _gone_through(loop)
    if not holder or not key:
        return ""
    stored = [
        each
        for each in nodes_in(loop, ast.Subscript)
        if not isinstance(each.ctx, ast.Load) and dotted_path(each.value) == holder
    ]
    return holder if stored and all(is_name(each.slice, key) for each in stored) else ""


def _gone_through(loop: ast.For) -> tuple[str, str]:
    """The dict that a loop goes through, and the name that each key has."""
    source, target = loop.iter, loop.target
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id in _COPIES and source.args:
        source = source.args[0]
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and source.func.attr in _VIEWS:
        if source.func.attr == "items" and isinstance(target, ast.Tuple):
            target = target.elts[0]
        source = source.func.value
    return dotted_path(source) or "", target.id if isinstance(target, ast.Name) else ""
