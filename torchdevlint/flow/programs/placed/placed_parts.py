"""Whether something of a value is on an accelerator: what its objects keep, or what these keep in their turn."""

from __future__ import annotations

import ast

from torchdevlint.flow.programs.placed.definitions import PLACED, Object, Token
from torchdevlint.flow.programs.placed.placed_values import PlacedValues
from torchdevlint.flow.scope.cuda_literals import Scope


def may_have_parts_placed(values: PlacedValues, scope: Scope, node: ast.expr) -> bool:
    """Whether what an expression gives may be on an accelerator, or an attribute of an object in it."""
    seen: set[Token] = set()
    level: list[frozenset[Token] | set[Token]] = [values.tokens(scope, node)]
    while level:
        tokens = level.pop()
        if PLACED in tokens:
            return True
        owners = {each.of for each in tokens if isinstance(each, Object)} - seen
        seen |= owners
        level += [values.kept(name) for each in owners for name in values.known.kept_by(each)]
    return False
