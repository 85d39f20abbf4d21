"""What a method overrides: whoever has an object of the base calls the method of the class that it is of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.scope.imported_names import definitions
from torchdevlint.flow.scope.names import dotted_path, positional_names
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST_HOPS = 3
"""How many bases above each other are followed."""

Overridden = tuple[ModuleFile, FunctionNode, str]
"""A method of a base, in its file, and what it calls the same argument."""


def overridden_by(method: ast.AST, argument: str, file: ModuleFile, project: Project) -> Iterator[Overridden]:
    """The methods of the project that a method of a class of the top level of a file overrides, the nearest first."""
    owner = next((each for each in file.tree.body if isinstance(each, ast.ClassDef) and method in each.body), None)
    names = positional_names(method) if isinstance(method, _FUNCTIONS) else []
    if owner is None or argument not in names or method.name.startswith("__init"):  # type: ignore[attr-defined]
        return
    place = names.index(argument)
    for home, base in _bases(owner, file, project, _MOST_HOPS):
        for each in base.body:
            if isinstance(each, _FUNCTIONS) and each.name == method.name:  # type: ignore[attr-defined]
                yield from ((home, each, name) for name in positional_names(each)[place : place + 1])


def _bases(
    owner: ast.ClassDef, file: ModuleFile, project: Project, hops: int
) -> Iterator[tuple[ModuleFile, ast.ClassDef]]:
    for path in filter(None, map(dotted_path, owner.bases)) if hops else ():
        for home, name in ((file, path), *definitions(project, file.path, file.tree, path)):
            for each in home.bindings.get(name, ()):
                if isinstance(each, ast.ClassDef) and each is not owner:
                    yield home, each
                    yield from _bases(each, home, project, hops - 1)
