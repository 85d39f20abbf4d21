"""Batches of loaders that other files of the program build: a data set, or a collate function, may have placed them."""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.tensors import BatchNotMoved
from torchdevlint.flow.kinds.placed_batches import builds_loaders, collates_in_place, defines_placed_data
from torchdevlint.flow.scope.call_sites import MOST_FILES
from torchdevlint.project.uses import Project

_LOADER, _ROWS = ("DataLoader",), ("__getitem__",)


def is_in_place(tree: ast.Module, fact: Fact, project: Project) -> bool:
    """Whether no loader is built here, and a data set of the project places its rows, or each loader collates in place.

    Each of them has a collate function that is told a device.
    """
    if not isinstance(fact, BatchNotMoved) or fact.made_by != "loader" or builds_loaders(tree):
        return False
    if any(map(defines_placed_data, _saying(project, _ROWS) or ())):
        return True
    if project.saying(_LOADER, beside_code=True) != ():
        return False
    building = [each for each in _saying(project, _LOADER) or () if builds_loaders(each)]
    return bool(building) and all(map(collates_in_place, building))


def _saying(project: Project, words: tuple[str, ...]) -> list[ast.Module] | None:
    """The other files of the project that say some words; None for too many, or one that cannot be read."""
    paths = project.saying(words)
    if paths is None or len(paths) > MOST_FILES:
        return None
    found = [project.library.get(each) for each in paths]
    for path, module in zip(paths, found, strict=True):
        project.used(path, "", module)
    trees = [each.tree for each in found if each is not None]
    return trees if len(trees) == len(paths) else None
