"""Names that a module of the project is asked for, and does not have: ``cfg.use_office``, where `cfg` is a file.

Whoever comes there ends in an AttributeError, on every machine.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.programs.reached.missing_options import is_written_by_project, read_of
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.project.missing import is_unbound
from torchdevlint.source.nodes import names_bound_in
from torchdevlint.source.notebook import NOTEBOOK

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def asks_module_for_nothing(scope: Scope, name: ast.Name) -> bool:
    """Whether a name stands for a module of the project, and a name is read of it that it surely has not."""
    read = read_of(scope.tree, name)
    if read is None or read.attr.startswith("__") or scope.file.path.endswith(NOTEBOOK):
        return False
    if isinstance(scope.function, _FUNCTIONS) and name.id in names_bound_in(scope.function):
        return False
    home = _module_called(scope, name.id)
    if home is None or not home.endswith(".py") or not is_unbound(read.attr, home, scope.project):
        return False
    return not is_written_by_project(scope, read.attr)


def _module_called(scope: Scope, name: str) -> str | None:
    """The file of a module that one import of the top level gives a name: ``from config import yolo as cfg``."""
    statements = scope.file.bindings.get(name, ())
    if len(statements) != 1 or name in scope.file.rebound:
        return None
    node, own, project = statements[0], scope.file.path, scope.project
    if isinstance(node, ast.Import):
        modules = (each.name for each in node.names if name == (each.asname or ("" if "." in each.name else each.name)))
        return next((project.locate(own, each, 0) for each in modules), None)
    if not isinstance(node, ast.ImportFrom):
        return None
    taken = next((each.name for each in node.names if name == (each.asname or each.name)), None)
    package = project.locate(own, node.module or "", node.level)
    if taken is None or package is None:
        return None
    module = project.module(package) if package.endswith(".py") else None
    is_value = module is not None and (taken in module.bindings or bool(module.stars))
    return None if is_value else project.submodule(package, taken)
