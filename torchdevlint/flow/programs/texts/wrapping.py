"""Decorators of a project that keep nothing of what they are given: who calls it goes by its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.decorators import registers
from torchdevlint.flow.scope.imported_names import definitions
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import own_nodes_in

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ASKING = frozenset("wraps update_wrapper signature getfullargspec getsource iscoroutinefunction callable".split())
"""What is told of a function, and keeps nothing of it."""


def may_be_found(node: ast.stmt, file: ModuleFile, project: Project) -> bool:
    """Whether a decorator of a definition may let others find it but by its name, or runs it.

    One that the project defines itself does not, where it only calls it later on, or gives it back.
    """
    found = [each for each in getattr(node, "decorator_list", ()) if registers(each)]
    return not all(_only_wraps(each, file, project) for each in found)


def _only_wraps(decorator: ast.expr, file: ModuleFile, project: Project) -> bool:
    is_made = isinstance(decorator, ast.Call)
    path = dotted_path(decorator.func if isinstance(decorator, ast.Call) else decorator)
    found = [] if path is None else list(_bound(path, file, project))
    return bool(found) and all(isinstance(each, _FUNCTIONS) and _keeps_nothing(each, is_made) for each in found)


def _bound(path: str, file: ModuleFile, project: Project) -> Iterator[ast.stmt]:
    """The statements that bind a path of names, of a function, here or where it is imported from."""
    own = file.bindings.get(path, ())
    yield from (each for each in own if not isinstance(each, (ast.Import, ast.ImportFrom)))
    for home, name in definitions(project, file.path, file.tree, path):
        yield from home.bindings.get(name, ())


def _keeps_nothing(function: FunctionNode, is_made: bool) -> bool:
    """Whether a decorator, or what one that `is_made` gives back, only gives back what it is given, or defines there.

    What that does when it is called is no matter: somebody has called it.
    """
    inner = [each for each in functions_in(function) if each is not function]
    given = [each for each in inner if each in function.body] if is_made else [function]
    if not given or any(each.decorator_list for each in (function, *given)):
        return False
    names = {name for each in given for name in parameter_names(each)}.union(each.name for each in inner)
    return all(_gives_back(each, names) for each in dict.fromkeys((function, *given)))


def _gives_back(function: FunctionNode, names: set[str]) -> bool:
    """Whether a function itself only gives back what goes by some names, asks it for attributes, or tells of it."""
    known = [each.value for each in own_nodes_in(function, ast.Return)]
    known += [each.value for each in own_nodes_in(function, ast.Attribute)]
    asking = (each for each in own_nodes_in(function, ast.Call) if last_name(each.func) in _ASKING)
    known += [given for each in asking for given in each.args]
    read = [each for each in own_nodes_in(function, ast.Name) if isinstance(each.ctx, ast.Load) and each.id in names]
    return {*map(id, known)}.issuperset(map(id, read))
