"""Whether a function asks what class something has that a call gives, or a part of it."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import last_name
from torchdevlint.source.nodes import Assignment, assignments_in, inside, nodes_in


def is_asked_for_its_class(scope: ast.AST, call: ast.Call) -> bool:
    """Whether `scope` asks by `isinstance` for what a call in it gives, be it by way of other names."""
    assigned = assignments_in(scope)
    names: set[str] = set()
    found = {name for each in assigned if call in inside(each.value) for name in _bound_by(each)}
    while found - names:
        names |= found
        found = {name for each in assigned if _reads(each.value, names) for name in _bound_by(each)}
    asked = (each.args[0] for each in nodes_in(scope, ast.Call) if last_name(each.func) == "isinstance" and each.args)
    return any(_reads(each, names) for each in asked)


def _bound_by(assign: Assignment) -> set[str]:
    return {each.id for target in assign.targets for each in inside(target) if isinstance(each, ast.Name)}


def _reads(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in inside(node))
