"""Values that are never read, since their name is bound anew right after: ``device = choose()``, ``device = "cpu"``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path, first_name
from torchdevlint.source.nodes import Assignment, assignment_of, nodes_in, once_a_node

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@once_a_node
def overwritten(scope: ast.AST) -> frozenset[ast.expr]:
    """The values of assignments in the body of a function, class or file that a later one of the same body replaces.

    Nothing in between reads them, nor calls what is defined in a file, where something that is defined so far may.
    """
    held = getattr(scope, "body", None)
    body: list[ast.stmt] = held if isinstance(held, list) else []
    found: set[ast.expr] = set()
    last: dict[str, tuple[int, Assignment]] = {}
    for place, statement in enumerate(body):
        for path, each in _bound_by(statement):
            before = last.get(path)
            if before is not None and not _may_read(body[:place], path, [*body[before[0] + 1 : place], each.value]):
                found.add(before[1].value)
            last[path] = place, each
    return frozenset(found)


def _bound_by(statement: ast.stmt) -> Iterator[tuple[str, Assignment]]:
    assigned = assignment_of(statement)
    path = dotted_path(assigned.targets[0]) if assigned is not None and len(assigned.targets) == 1 else None
    if assigned is not None and path is not None:
        yield path, assigned


def _may_read(before: list[ast.stmt], path: str, between: list[ast.AST]) -> bool:
    """Whether what is run after a value was bound reads it; `before` is all that was run until it was bound anew."""
    first = first_name(path)
    if any(_reads(node, first) for node in between):
        return "." not in path or _reads_owner(path, between)
    definitions = [each for each in before if isinstance(each, _DEFINITIONS)]
    if not any(_reads(each, first) for each in definitions):
        return False
    defined = {each.name for each in definitions}
    called = (first_name(dotted_path(each.func) or "") for node in between for each in nodes_in(node, ast.Call))
    return any(each in defined for each in called)


def _reads(node: ast.AST, name: str) -> bool:
    return any(each.id == name and isinstance(each.ctx, ast.Load) for each in nodes_in(node, ast.Name))


def _reads_owner(path: str, between: list[ast.AST]) -> bool:
    """Whether something reads an attribute, or all that its owner holds: ``start(args)``."""
    reads = [each for node in between for each in nodes_in(node, ast.Attribute)]
    called = {id(each.func) for node in between for each in nodes_in(node, ast.Call)}
    apart = {id(each.value) for each in reads if _is_other(each, path) and id(each) not in called}
    owner = path.rpartition(".")[0]
    names = [each for node in between for each in nodes_in(node, ast.Name)]
    return any(dotted_path(each) == owner and id(each) not in apart for each in (*reads, *names))


def _is_other(node: ast.Attribute, path: str) -> bool:
    """Whether it is another attribute of the same owner, or this one where it is set."""
    owner, _, name = path.rpartition(".")
    return dotted_path(node.value) == owner and (node.attr != name or not isinstance(node.ctx, ast.Load))
