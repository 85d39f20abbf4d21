"""Statements that are run one after the other, whatever they stand in that decides nothing about it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchdevlint.flow.scope.handled_errors import goes_on
from torchdevlint.flow.scope.names import last_name


def straight(block: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block, with what is in a ``with``, or in a ``try`` without handlers, in place of these."""
    for each in block:
        if isinstance(each, (ast.With, ast.AsyncWith)) and not any(_suppresses(item) for item in each.items):
            yield from straight(each.body)
        elif isinstance(each, ast.Try) and not any(map(goes_on, each.handlers)):
            yield from straight([*each.body, *each.orelse, *each.finalbody])
        else:
            yield each


def _suppresses(item: ast.withitem) -> bool:
    """``with suppress(RuntimeError)``, ``with pytest.raises(RuntimeError)``: what is inside may end early."""
    call = item.context_expr
    name = last_name(call.func) if isinstance(call, ast.Call) else ""
    return "suppress" in name or "raises" in name.lower()
