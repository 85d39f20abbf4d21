"""Whether NumPy gives a tensor back, which a copy to the CPU would then keep from meeting others on an accelerator."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.knowledge.array_readers import GIVE_TENSORS
from torchdevlint.flow.scope.names import public_path
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.source.nodes import assignments_in, inside, is_inside, nodes_in


def gives_tensor_to_others(scope: Scope, call: ast.AST) -> bool:
    """Whether ``np.tanh(t)``, which is a tensor again, is calculated with beside more than numbers that are written.

    In the same expression, or by the name that the function binds it to.
    """
    if not isinstance(call, ast.Call) or public_path(call.func) not in GIVE_TENSORS:
        return False
    names = set(_names_of(scope, call))
    for operation in nodes_in(scope, ast.BinOp):
        sides = (operation.left, operation.right)
        for one, other in (sides, sides[::-1]):
            if not isinstance(other, ast.Constant) and (is_inside(call, one) or _is_named(one, names)):
                return True
    return any(
        is_inside(call, each.value) or _is_named(each.value, names) or _is_named(each.target, names)
        for each in nodes_in(scope, ast.AugAssign)
    )


def _names_of(scope: Scope, call: ast.Call) -> Iterator[str]:
    held = (each for each in assignments_in(scope) if is_inside(call, each.value))
    return (each.id for one in held for each in one.targets if isinstance(each, ast.Name))


def _is_named(node: ast.expr, names: set[str]) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in inside(node))
