"""Whether a load reads a path that a call has given which saves files: ``path = train()`` and ``torch.load(path)``."""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.file_names import scopes_of
from torchdevlint.flow.checks.saved_names import values_in
from torchdevlint.flow.checks.written_before import is_written_around
from torchdevlint.flow.programs.ways import Ways
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project


def is_written_by_this_run(own: ModuleFile, project: Project, load: ast.Call) -> bool:
    """Whether a loop around a load saves the file, or its path is what a call of the same function gives that saves.

    The path may be an element of that: ``torch.load(result["best"])``.
    """
    if is_written_around(own.path, own.tree, load, Scope(own, project)):
        return True
    call = _giving(scopes_of(own.tree, load)[0], load.args[0]) if load.args else None
    return call is not None and Ways(project, _saves, loosely=True).is_so_in_call(own, call)


def _saves(scope: Scope, call: ast.Call) -> bool:
    return dotted_path(call.func) == "torch.save"


def _giving(scope: ast.AST, path: ast.expr) -> ast.Call | None:
    """The call whose result, or an element of it, a path is, where nothing else is bound to the name."""
    while isinstance(path, (ast.Subscript, ast.Attribute)):
        path = path.value
    bound = values_in(scope).get(path.id, []) if isinstance(path, ast.Name) else []
    value = bound[0].value if len(bound) == 1 else None
    return value if isinstance(value, ast.Call) else None
