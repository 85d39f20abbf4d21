"""Which names of a file another one means, that imports it and says them: a third file may define the same ones."""

from __future__ import annotations

import ast
from collections import Counter

from torchdevlint.flow.scope.imported_names import defined
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in, once_a_node

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def meant(names: frozenset[str], home: ModuleFile, file: ModuleFile, project: Project) -> frozenset[str]:
    """Those of the `names` of the file `home` that another file may mean, as far as the other does not bind its own.

    What is read as an attribute may be one of the module, whatever the name means by itself.
    """
    return frozenset(each for each in names if _may_mean(file, each, home, project))


def _may_mean(file: ModuleFile, name: str, home: ModuleFile, project: Project) -> bool:
    if name in _attributes(file.tree):
        return True
    bound = file.bindings.get(name, ())
    if bound and all(isinstance(each, _DEFINITIONS) for each in bound):
        return _imports_of(file.tree)[name] > 0
    if _imports_of(file.tree)[name] != 1:
        return True
    led = defined(project, file.path, file.tree, name)
    if led is None or led[0].path == home.path:
        return True
    handed_on = defined(project, home.path, home.tree, name)
    return handed_on is not None and handed_on[0].path == led[0].path


@once_a_node
def _attributes(tree: ast.Module) -> frozenset[str]:
    return frozenset(each.attr for each in nodes_in(tree, ast.Attribute))


@once_a_node
def _imports_of(tree: ast.Module) -> Counter[str]:
    """How many imports of a file bind a name, wherever they stand."""
    imported: list[ast.Import | ast.ImportFrom] = [*nodes_in(tree, ast.Import), *nodes_in(tree, ast.ImportFrom)]
    return Counter(each.asname or each.name for node in imported for each in node.names)
