"""What is assigned to names and attributes in a scope, as its text says: found once, however often it is asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path, names_one_of
from torchdevlint.source.nodes import Assignment, assignments_in, once_a_node


@once_a_node
def assignments_by_path(scope: ast.AST) -> dict[str, list[Assignment]]:
    """The assignments in a scope, nearer ones first, by the path of their first target."""
    found: dict[str, list[Assignment]] = {}
    for node in assignments_in(scope):
        path = dotted_path(node.targets[0])
        if path is not None:
            found.setdefault(path, []).append(node)
    return found


@once_a_node
def values_by_path(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """The values of all assignments in a scope by the paths of their targets."""
    found: dict[str, list[ast.expr]] = {}
    for each in assignments_in(scope):
        for target in each.targets:
            path = dotted_path(target)
            values = found.get(path) if path is not None else None
            if values is None and path is not None:
                found[path] = [each.value]
            elif values is not None and values[-1] is not each.value:  # as in ``a = a = value``
                values.append(each.value)
    return found


@once_a_node
def values_by_target(scope: ast.AST) -> dict[ast.AST, ast.expr]:
    """What is assigned to the very node that is the first target of an assignment."""
    return {each.targets[0]: each.value for each in assignments_in(scope)}


def unpacked_to(scope: ast.AST, name: str) -> Iterator[tuple[list[ast.expr], ast.expr]]:
    """The targets and the value of each assignment that unpacks something into a name: ``name, other = f(x)``."""
    bound = ((target, each.value) for each in assignments_in(scope) for target in each.targets)
    for target, value in bound:
        if isinstance(target, (ast.Tuple, ast.List)) and names_one_of(name, target.elts):
            yield target.elts, value


@once_a_node
def targets_by_value(scope: ast.AST) -> dict[ast.expr, ast.expr]:
    """The name or attribute that each value of an assignment to one alone goes to."""
    return {
        node.value: node.targets[0]
        for node in assignments_in(scope)
        if len(node.targets) == 1 and isinstance(node.targets[0], (ast.Name, ast.Attribute))
    }
