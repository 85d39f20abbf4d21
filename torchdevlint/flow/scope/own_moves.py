"""Methods in which a Module moves itself: ``self.to(device)`` stands for what comes after it, not before."""

from __future__ import annotations

import ast

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path, last_name, places_in
from torchdevlint.flow.scope.unconditional import straight
from torchdevlint.source.nodes import once_a_node

_OWN_MOVES = frozenset(f"self.{method}" for method in torch_api.PLACING_METHODS)


def is_before_own_move(method: ast.AST, node: ast.AST) -> bool:
    """Whether a method moves its `self` further down, whatever happens in between.

    It stays where it is in a loop, whose next round comes after the move, if that is in the loop as well: only a move
    that the body of the method itself has is looked at.
    """
    line = _line_of_own_move(method)
    return line is not None and getattr(node, "lineno", line) < line


@once_a_node
def _line_of_own_move(method: ast.AST) -> int | None:
    """The line of the first ``self.to(device)`` that a method always runs."""
    body = getattr(method, "body", None)
    for each in straight(body) if isinstance(body, list) else ():  # that of a lambda is an expression
        call = each.value if isinstance(each, (ast.Expr, ast.Assign)) else None
        if isinstance(call, ast.Call) and dotted_path(call.func) in _OWN_MOVES and _is_to_a_place(call):
            return each.lineno
    return None


def _is_to_a_place(call: ast.Call) -> bool:
    """``.cuda()``, and ``.to(device)``, but not ``.to(torch.float64)``."""
    return last_name(call.func) != "to" or bool(places_in(call))
