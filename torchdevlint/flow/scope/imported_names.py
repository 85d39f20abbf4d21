"""Where a name that a file imports is bound: the module of the project, and what it is called there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in, once_a_node

_MOST_HOPS = 4
"""How many modules hand a name on."""

Defined = tuple[ModuleFile, str]
"""A module that binds a name itself, and the path of names that leads on from there."""


def defined(project: Project, home: str, tree: ast.Module, path: str, hops: int = _MOST_HOPS) -> Defined | None:
    """What a path of names in the file at `home` leads to, through imports; None if that is not in the project.

    ``settings.Paths.MODELS`` is ``Paths.MODELS`` in the module that ``import settings`` reads.
    """
    return next(definitions(project, home, tree, path, hops), None)


def definitions(project: Project, home: str, tree: ast.Module, path: str, hops: int = _MOST_HOPS) -> Iterator[Defined]:
    """All that a path of names in a file may lead to: an import may be tried, and made up for by another one."""
    named = [each for each in _imports(tree) if path == each[3] or path.startswith(f"{each[3]}.")]
    for module, level, name, bound in named or [each for each in _imports(tree) if not each[3]]:
        rest = path[len(bound) + 1 :] if bound else path
        found = project.locate(home, module, level)
        if found is None:
            continue
        below = project.submodule(found, name) if name and bound else None
        wanted = ".".join(filter(None, (name, rest))) if bound else rest
        answer = _in_module(project, found, wanted, hops) or (below and _in_module(project, below, rest, hops))
        if answer:
            yield answer


def is_of_library(project: Project, home: str, tree: ast.Module, node: ast.Attribute) -> bool:
    """Whether an attribute is one of a module that the file at `home` imports, and that is not of its project."""
    owner = dotted_path(node.value) or ""
    return _are_of_library(project, home, [each for each in _imports(tree) if f"{owner}.".startswith(f"{each[3]}.")])


def gives_library(project: Project, home: str, tree: ast.Module, name: str) -> bool:
    """Whether a name is one that the file at `home` imports from what is not of its project."""
    return _are_of_library(project, home, [each for each in _imports(tree) if each[3] == name])


def _are_of_library(project: Project, home: str, named: list[tuple[str, int, str, str]]) -> bool:
    """Whether imports, of which there are some, lead out of the project."""
    found = [each for each in named if each[3]]
    return bool(found) and all(not level and project.locate(home, module, 0) is None for module, level, _, _ in found)


def _in_module(project: Project, path: str, wanted: str, hops: int) -> Defined | None:
    first = wanted.partition(".")[0]
    if not first or not path.endswith(".py") or hops == 0:
        return None
    module = project.library.get(path)
    project.used(path, first, module)
    if module is None:
        return None
    statements = module.bindings.get(first, ())
    if statements and not any(isinstance(each, (ast.Import, ast.ImportFrom)) for each in statements):
        return module, wanted
    return defined(project, path, module.tree, wanted, hops - 1) if statements or module.stars else None


@once_a_node
def _imports(tree: ast.Module) -> list[tuple[str, int, str, str]]:
    """A module, the dots before it, the name that is taken from it, and what it is called; "" for what brings all."""
    found = [
        (alias.name, 0, "", alias.asname or alias.name) for node in nodes_in(tree, ast.Import) for alias in node.names
    ]
    for node in nodes_in(tree, ast.ImportFrom):
        found += [(node.module or "", node.level, alias.name, _bound(alias)) for alias in node.names]
    return sorted(found, key=lambda each: -len(each[3]))


def _bound(alias: ast.alias) -> str:
    return "" if alias.name == "*" else alias.asname or alias.name


@once_a_node
def imports_torch(tree: ast.Module) -> bool:
    """Whether the file has tensors of its own: others have devices that are something else."""
    named = [alias.name for each in nodes_in(tree, ast.Import) for alias in each.names]
    named += [each.module or "" for each in nodes_in(tree, ast.ImportFrom)]
    return any(each.partition(".")[0] == "torch" for each in named) or _gets_torch_by_star(tree)


def _gets_torch_by_star(tree: ast.Module) -> bool:
    """Whether a file reads attributes of `torch`, a name that nothing but ``from .. import *`` can bind."""
    if not any(alias.name == "*" for each in nodes_in(tree, ast.ImportFrom) for alias in each.names):
        return False
    named = [each for each in nodes_in(tree, ast.Name) if each.id == "torch"]
    return bool(named) and all(isinstance(each.ctx, ast.Load) for each in named)
