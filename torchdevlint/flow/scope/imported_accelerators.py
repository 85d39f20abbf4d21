"""What a file brings of its project: whether any of that, directly or not, has to do with accelerators."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.programs import names_accelerators
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in

MOST_FILES = 40
"""Where more files are on the way, what they do is not known."""


def imports_accelerators(file: ModuleFile, asked: Project) -> bool:
    """Whether what a file imports of the project, directly or not, names accelerators, or is too much to tell."""
    level, seen = [file], {file.path}
    while level and len(seen) <= MOST_FILES:
        found = {path: each for home in level for path, each in _imports_of(home, asked).items() if path not in seen}
        level = [each for each in found.values() if each is not None]
        if any(names_accelerators(each.source.text) for each in level):
            return True
        seen.update(found)
    return bool(level)


def _imports_of(file: ModuleFile, asked: Project) -> dict[str, ModuleFile | None]:
    found: dict[str, ModuleFile | None] = {}
    paths = [asked.locate(file.path, each.name, 0) for node in nodes_in(file.tree, ast.Import) for each in node.names]
    for node in nodes_in(file.tree, ast.ImportFrom):
        path = asked.locate(file.path, node.module or "", node.level)
        paths += [path, *(asked.submodule(path, each.name) for each in node.names if path is not None)]
    for path in paths:
        if path is not None and path.endswith(".py"):
            found[path] = asked.library.get(path)
            asked.used(path, "", found[path])
    return found
