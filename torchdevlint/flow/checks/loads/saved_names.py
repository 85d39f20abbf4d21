"""What the names of a scope are bound to, as its text says: anywhere, or right before they are read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec import Struct

from torchdevlint.flow.checks.loads.file_names import Scopes, file_name
from torchdevlint.flow.checks.loads.telling_names import HOLE, path_key
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.source.nodes import (
    arguments_of,
    assignment_of,
    ids_below,
    inside,
    nodes_in,
    once_a_node,
    own_assignments_in,
    own_nodes_in,
)

_COMPREHENSIONS = (ast.DictComp, ast.ListComp, ast.SetComp, ast.GeneratorExp)
WITH_ARGUMENTS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_AS_A_WHOLE = (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)


class Bound(Struct, frozen=True):
    """A value that is bound to a name, or an element of it; without a value nothing is known."""

    value: ast.expr | None
    place: int | None = None


@once_a_node
def values_in(scope: ast.AST) -> dict[str, list[Bound]]:
    """All that names of a scope are bound to: by assignments, by rounds of loops, and by anything else."""
    found: dict[str, list[Bound]] = {}
    for target, value in _bindings(scope):
        pairs: list[tuple[ast.expr, int | None]] = [(target, None)]
        if isinstance(target, (ast.Tuple, ast.List)):
            pairs = [(each, place) for place, each in enumerate(target.elts)]
        for each, place in pairs:
            names = (part for part in inside(each) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
            for name in names:
                found.setdefault(name.id, []).append(Bound(value, place))
    return found


@once_a_node
def bound_from_within(tree: ast.Module) -> frozenset[str]:
    """The names that functions bind in what is around them."""
    outer = [each.names for each in nodes_in(tree, ast.Global)] + [each.names for each in nodes_in(tree, ast.Nonlocal)]
    return frozenset(name for names in outer for name in names)


def _bindings(scope: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if isinstance(scope, _COMPREHENSIONS):
        yield from ((each.target, each.iter) for each in scope.generators)
        return
    yield from ((target, each.value) for each in own_assignments_in(scope) for target in each.targets)
    yield from ((each.target, each.value) for each in own_nodes_in(scope, ast.AugAssign))
    yield from ((each.target, each.iter) for each in own_nodes_in(scope, ast.For))
    for block in own_nodes_in(scope, ast.With):
        yield from ((item.optional_vars, None) for item in block.items if item.optional_vars is not None)


def saved_path_key(scopes: Scopes, save: ast.Call) -> str:
    """The key of a path that is saved to; "" where its names may be bound to another one before."""
    if len(save.args) < 2:
        return ""
    names = [each.id for each in inside(save.args[1]) if isinstance(each, ast.Name)]
    bound = [bound_to(scopes, each)[1] for each in names]
    surely = all(len(each) < 2 and all(one.value is not None for one in each) for each in bound)
    return path_key(save.args[1]) if surely else ""


def written_name(scopes: Scopes, save: ast.Call) -> str | None:
    """The last part of a path that is saved to, where all of it is written down."""
    name = file_name(scopes, save.args[1]) if len(save.args) > 1 else None
    return None if name is None or HOLE in name else name


def bound_to(scopes: Scopes, name: str) -> tuple[Scopes, list[Bound]]:
    """What a name is bound to, with the scopes from that on which binds it: nothing for a parameter."""
    for place, scope in enumerate(scopes):
        if isinstance(scope, WITH_ARGUMENTS) and name in parameter_names(scope):
            return scopes[place:], []
        values = values_in(scope).get(name)
        if values:
            return scopes[place:], values
    return (), []


def of_libraries(tree: ast.Module, libraries: frozenset[str]) -> frozenset[str]:
    """The names that a file imports from some libraries, or for them."""
    return frozenset(name for name, library in _imported(tree) if library in libraries)


@once_a_node
def _imported(tree: ast.Module) -> list[tuple[str, str]]:
    """The names that imports bind, each with the library that they are for."""
    found = []
    for one in nodes_in(tree, ast.Import):
        for each in one.names:
            first = each.name.partition(".")[0]
            found.append((each.asname or first, first))
    for one_of in nodes_in(tree, ast.ImportFrom):
        if one_of.module and not one_of.level:
            found += [(each.asname or each.name, one_of.module.partition(".")[0]) for each in one_of.names]
    return found


def bound_before(scope: ast.AST, read: ast.expr) -> ast.expr | None:
    """The value that a name or attribute surely has where it is read: that of an assignment on the only way there.

    None where another statement in between may bind it, or call what does.
    """
    path = dotted_path(read)
    if path is None:
        return None
    for statement in before(scope, read):
        bound = assignment_of(statement)
        if bound is not None and any(dotted_path(each) == path for each in bound.targets):
            return bound.value if len(bound.targets) == 1 else None
        if _may_bind(statement, path):
            return None
    return None


def before(scope: ast.AST, node: ast.AST) -> Iterator[ast.stmt]:
    """The statements that run before a node, nearest first; a loop around it or a `try` stands for all that is in it.

    Other branches are none of them, and what defines something runs nothing.
    """
    for block, place, around in reversed(blocks_around(scope, node)):
        yield from (each for each in reversed(block[:place]) if not isinstance(each, _DEFINITIONS))
        if isinstance(around, _AS_A_WHOLE) or (isinstance(around, ast.Try) and block is not around.body):
            yield around


def _may_bind(statement: ast.stmt, path: str) -> bool:
    """Whether a statement binds a name, or may set an attribute, be it in a method that it calls."""
    root, _, name = path.rpartition(".")
    names = nodes_in(statement, ast.Name)
    if not root:
        return any(each.id == path and not isinstance(each.ctx, ast.Load) for each in names)
    if any(each.attr == name and not isinstance(each.ctx, ast.Load) for each in nodes_in(statement, ast.Attribute)):
        return True
    return any(_hands_on(each, root) for each in nodes_in(statement, ast.Call)) or any(
        each.id == root and not isinstance(each.ctx, ast.Load) for each in names
    )


def _hands_on(call: ast.Call, root: str) -> bool:
    """``root.step()``, ``step(root)``"""
    given = arguments_of(call)
    of_root = isinstance(call.func, ast.Attribute) and dotted_path(call.func.value) == root
    return of_root or root in tuple(map(dotted_path, given))


def blocks_around(scope: ast.AST, node: ast.AST) -> list[tuple[list[ast.stmt], int, ast.AST]]:
    """The blocks around a node, from that of the scope on: the place of the statement in it, and whose block it is."""
    found: list[tuple[list[ast.stmt], int, ast.AST]] = []
    around = scope
    while True:
        steps = ((block, _place_in(block, node)) for block in _own_blocks(around))
        block, place = next((each for each in steps if each[1] is not None), ([], None))
        if place is None:
            return found
        found.append((block, place, around))
        around = block[place]
        if isinstance(around, _DEFINITIONS):
            return []


def _own_blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(node, "handlers", ()):
        yield handler.body
    for case in getattr(node, "cases", ()):
        yield case.body


def _place_in(block: list[ast.stmt], node: ast.AST) -> int | None:
    line = getattr(node, "lineno", 0)
    for place, each in enumerate(block):
        if each.lineno <= line <= (each.end_lineno or each.lineno) and (each is node or id(node) in ids_below(each)):
            return place
    return None
