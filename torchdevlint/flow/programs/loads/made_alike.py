"""Paths that a function puts together of what it is given, as another one has done that saved there before.

``keep(net, folder, "best")`` and ``restore(net, folder, "best")``, each of which joins the folder and the name.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from torchdevlint.flow.checks.loads.file_names import scopes_of
from torchdevlint.flow.checks.loads.saved_names import values_in
from torchdevlint.flow.checks.loads.telling_names import path_key
from torchdevlint.flow.checks.loads.written_before import path_of_load, saved_path
from torchdevlint.flow.programs.reached.ways import Ways
from torchdevlint.flow.programs.texts.project_calls import ProjectCalls
from torchdevlint.flow.scope.call_sites import MOST_FILES, argument_of, own_call_sites
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.names import given_by_default, has_stars, last_name, parameter_names
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import inside, is_below, nodes_in, own_nodes_in

_MOST_HOPS = 2
"""How many functions are followed from a call to what saves."""
_MOST_NAMES = 5
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_made_as_saved(own: ModuleFile, project: Project, load: ast.Call) -> bool:
    """Whether each call of the function that loads comes after one that saves to the same path, with what it is given.

    Both stand in one function, or on one top level; of an object, both are asked for it by the same name.
    """
    function, owner = _around(own.tree, load)
    path = path_of_load(load)
    if function is None or path is None:
        return False
    read = _in_terms_of(function, path)
    if read is None or not _is_of_given(function, read):
        return False
    calls = _calls(own, project, function, owner)
    return bool(calls) and all(_is_saved_before(file, project, call, function, owner, read) for file, call in calls)


def _calls(
    own: ModuleFile, project: Project, function: FunctionNode, owner: ast.ClassDef | None
) -> list[tuple[ModuleFile, ast.Call]]:
    """The calls of a function or method in all files of a project; none where not all are known."""
    if owner is not None:
        found = ProjectCalls(own, project).of_method(function.name)
    elif project.importers(own.path) == ():
        return [(own, each.call) for each in own_call_sites(own.tree, function)]
    else:
        found = ProjectCalls(own, project).of(own.path, function.name)
    return found if found is not None and len(found) <= MOST_FILES else []


def _is_saved_before(
    file: ModuleFile,
    project: Project,
    call: ast.Call,
    function: FunctionNode,
    owner: ast.ClassDef | None,
    read: ast.expr,
) -> bool:
    there = _put(call, function, owner, read)
    here = scopes_of(file.tree, call)[0]
    if there is None or not _is_the_same_later(here, there):
        return False
    told = path_key(there)

    def saves(scope: Scope, other: ast.Call) -> bool:
        if scope.file.tree is not file.tree or other is call or scopes_of(file.tree, other)[0] is not here:
            return False
        return any(path_key(each) == told for each in _saved_in(ways, scope, other, _MOST_HOPS))

    method = None if owner is None else Scope(file, project, function, owner)
    ways = Ways(project, saves, loosely=True, method=method)
    scope = _scope_of(file, project, call)
    loops = [each for kind in (ast.For, ast.While) for each in nodes_in(file.tree, kind) if is_below(call, each)]
    if any(saves(scope, each) for loop in loops for each in nodes_in(loop, ast.Call)):
        return True
    return ways.is_so_within(file, call) or ways.are_all_so(file, frozenset(), call)


def _saved_in(ways: Ways, scope: Scope, call: ast.Call, hops: int) -> Iterator[ast.expr]:
    """The paths to which a call saves, in terms of the function that makes it, as far as it is of the project."""
    callee = ways.callee(scope, call)
    function = None if callee is None else callee.function
    if callee is None or not isinstance(function, _FUNCTIONS):
        return
    owner = callee.owner if function in getattr(callee.owner, "body", ()) else None
    for each in own_nodes_in(function, ast.Call):
        path = saved_path(each)
        found = [path] if path is not None else _saved_in(ways, callee, each, hops - 1) if hops > 1 else ()
        for one in found:
            told = _in_terms_of(function, one)
            put = None if told is None else _put(call, function, owner, told)
            if put is not None:
                yield put


def _in_terms_of(function: FunctionNode, path: ast.expr) -> ast.expr | None:
    """A path in terms of what a function is given; None where names of it are bound in several ways."""
    for _ in range(_MOST_NAMES):
        own = [each for each in inside(path) if isinstance(each, ast.Name) and each.id in values_in(function)]
        if not own:
            return path
        held = {each.id: _bound_to(function, each.id) for each in own}
        if any(value is None for value in held.values()) or not parameter_names(function).isdisjoint(held):
            return None
        path = _Replaced(held).visit(copy.deepcopy(path))
    return None


def _bound_to(function: FunctionNode, name: str) -> ast.expr | None:
    """What alone a name is bound to, be it a file that is opened: then its path."""
    bound = values_in(function)[name]
    if len(bound) != 1 or bound[0].place is not None:
        return None
    items = (item for each in own_nodes_in(function, ast.With) for item in each.items)
    opened = [
        each.context_expr
        for each in items
        if isinstance(each.optional_vars, ast.Name) and each.optional_vars.id == name
    ]
    made = opened[0] if opened else None
    if isinstance(made, ast.Call) and last_name(made.func) == "open" and made.args:
        return made.args[0]
    return bound[0].value


def _put(call: ast.Call, function: FunctionNode, owner: ast.ClassDef | None, path: ast.expr) -> ast.expr | None:
    """A path that is told in terms of a function in those of who calls it; None where the call does not tell."""
    if has_stars(call):
        return None
    is_bound = owner is not None and isinstance(call.func, ast.Attribute)
    defaults = dict(given_by_default(function.args))
    held: dict[str, ast.expr | None] = {}
    for name in {each.id for each in inside(path) if isinstance(each, ast.Name)} & parameter_names(function):
        held[name] = argument_of(call, function, name, is_bound=is_bound) or defaults.get(name)
    if is_bound and isinstance(call.func, ast.Attribute):
        held["self"] = call.func.value
    if any(each is None for each in held.values()):
        return None
    return _Replaced(held).visit(copy.deepcopy(path)) if held else path


class _Replaced(ast.NodeTransformer):
    """Other expressions for some names."""

    def __init__(self, held: dict[str, ast.expr | None]) -> None:
        self._held = held

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._held.get(node.id) or node


def _is_of_given(function: FunctionNode, path: ast.expr) -> bool:
    names = {each.id for each in inside(path) if isinstance(each, ast.Name)}
    return not names.isdisjoint(parameter_names(function) | {"self"})


def _is_the_same_later(scope: ast.AST, path: ast.expr) -> bool:
    """Whether the names of a path are bound once where it is told, be it anew in each round of a loop."""
    names = {each.id for each in inside(path) if isinstance(each, ast.Name)}
    given = parameter_names(scope) if isinstance(scope, _FUNCTIONS) else frozenset()
    return all(len(values_in(scope).get(each, ())) + (each in given) <= 1 for each in names)


def _around(tree: ast.Module, node: ast.AST) -> tuple[FunctionNode | None, ast.ClassDef | None]:
    function = scopes_of(tree, node)[0]
    if not isinstance(function, _FUNCTIONS):
        return None, None
    return function, next((each for each in nodes_in(tree, ast.ClassDef) if function in each.body), None)


def _scope_of(file: ModuleFile, project: Project, call: ast.Call) -> Scope:
    return Scope(file, project, *_around(file.tree, call))
