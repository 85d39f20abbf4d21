"""Whether a program writes a file itself before it reads it: a `torch.save` under the name that a load reads."""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.file_names import Place, file_names, scopes_of
from torchdevlint.flow.checks.telling_names import may_be_equal
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import is_below, nodes_in


def writes_what_is_read(home: str, tree: ast.Module, load: ast.Call, scope: Scope, call: ast.Call) -> bool:
    """Whether a call saves the file that `load` in the file at `home` reads: all names that it may have are alike."""
    if dotted_path(call.func) != "torch.save":
        return False
    written, read = _path(call, 1), _path(load, 0)
    if written is None or read is None:
        return False
    saved = _names(scope.file.path, scope.file.tree, scope.project, call, written)
    loaded = _names(home, tree, scope.project, load, read)
    if not loaded or not saved:
        return scope.file.tree is tree and _is_kept(read) and ast.dump(written) == ast.dump(read)
    return all(any(may_be_equal(one, other) for other in saved) for one in loaded)


def is_written_around(home: str, tree: ast.Module, load: ast.Call, scope: Scope) -> bool:
    """Whether a loop around a load saves the file too: what the best round left is read back by a later one."""
    loops = [*nodes_in(tree, ast.For), *nodes_in(tree, ast.While)]
    around = (each for each in loops if is_below(load, each))
    return any(
        writes_what_is_read(home, tree, load, scope, call) for each in around for call in nodes_in(each, ast.Call)
    )


def _path(call: ast.Call, place: int) -> ast.expr | None:
    named = (each.value for each in call.keywords if each.arg == "f")
    return call.args[place] if len(call.args) > place else next(named, None)


def _names(home: str, tree: ast.Module, project: Project, call: ast.Call, path: ast.expr) -> list[str]:
    """The names that a path may end in; nothing where one of them is not known."""
    names = file_names(Place(scopes_of(tree, call), home, project), path, ends=True)
    return [] if None in names else [each for each in names if each is not None]


def _is_kept(path: ast.expr) -> bool:
    """Whether a path is an attribute, or an option: what it is once, it is all the time."""
    return isinstance(path, ast.Attribute) and dotted_path(path) is not None
