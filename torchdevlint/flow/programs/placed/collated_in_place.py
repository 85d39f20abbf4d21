"""Batches of loaders that other files of the program build: their collate functions may have placed them."""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.tensors import BatchNotMoved
from torchdevlint.flow.kinds.placed_batches import builds_loaders, collates_in_place
from torchdevlint.flow.scope.call_sites import MOST_FILES
from torchdevlint.project.uses import Project

_LOADER = ("DataLoader",)


def is_in_place(tree: ast.Module, fact: Fact, project: Project) -> bool:
    """Whether each loader of the project has a collate function that is told a device, and none is built here."""
    if not isinstance(fact, BatchNotMoved) or fact.made_by != "loader" or builds_loaders(tree):
        return False
    paths = project.saying(_LOADER)
    if not paths or len(paths) > MOST_FILES or project.saying(_LOADER, beside_code=True) != ():
        return False
    found = [project.library.get(each) for each in paths]
    for path, module in zip(paths, found, strict=True):
        project.used(path, "", module)
    trees = [each.tree for each in found if each is not None]
    building = [each for each in trees if builds_loaders(each)]
    return len(trees) == len(paths) and bool(building) and all(map(collates_in_place, building))
