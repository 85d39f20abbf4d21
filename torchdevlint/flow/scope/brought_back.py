"""Results of calls that the same function brings to the CPU: ``model.decode(z).cpu()``, or under a name that it has."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.assigned import targets_by_value
from torchdevlint.flow.scope.names import is_cpu_spec, places_in
from torchdevlint.flow.scope.uses import Scope
from torchdevlint.source.nodes import nodes_in, once_a_node


def is_brought_back(scope: Scope, call: ast.Call) -> bool:
    """Whether somebody expects that what a call gives is elsewhere: a part of it or all is sent to the CPU."""
    starts = _brought_in(scope)
    target = targets_by_value(scope).get(call)
    return any(each is call for each in starts) or (
        isinstance(target, ast.Name) and any(isinstance(each, ast.Name) and each.id == target.id for each in starts)
    )


@once_a_node
def _brought_in(scope: Scope) -> list[ast.expr]:
    """All that stands before ``.cpu()`` and ``.to("cpu")``, down to the name that the chain starts with."""
    found: list[ast.expr] = []
    for call in nodes_in(scope, ast.Call):
        node: ast.expr = call
        while says_cpu(call) and isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
            node = node.func if isinstance(node, ast.Call) else node.value
            found.append(node)
    return found


def says_cpu(call: ast.Call) -> bool:
    """``x.cpu()``, ``x.to("cpu")``, ``x.to(torch.device("cpu"))``."""
    named = any(map(is_cpu_spec, places_in(call)))
    return isinstance(call.func, ast.Attribute) and (call.func.attr == "cpu" or (call.func.attr == "to" and named))
