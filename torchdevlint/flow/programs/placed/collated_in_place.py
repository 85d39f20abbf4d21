"""Batches of loaders that other files of the program build: a data set, or a collate function, may have placed them."""

from __future__ import annotations

import ast

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.tensors import BatchNotMoved
from torchdevlint.flow.kinds.own_moves import moved_names
from torchdevlint.flow.kinds.placed_batches import builds_loaders, collates_in_place, defines_placed_data
from torchdevlint.flow.programs.placed.scattered_by_callers import is_scattered
from torchdevlint.flow.scope.call_sites import MOST_FILES
from torchdevlint.flow.scope.imported_names import defined
from torchdevlint.flow.scope.names import dotted_path, parameter_names, positional_names
from torchdevlint.patterns import regex
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import forwards_in
from torchdevlint.source.nodes import nodes_in

_KEY = regex(r"""[\w.]+\[["'](\w+)["']\]""")
_PLACES = (".cuda(", "device")
_LOADER, _ROWS = ("DataLoader",), ("__getitem__",)


def is_in_place(own: ModuleFile | None, fact: Fact, project: Project) -> bool:
    """Whether no loader is built here, and a data set of the project places its rows, or each loader collates in place.

    Each of them has a collate function that is told a device. Or a model of the project moves what it gets, or all
    callers of the function wrap it in what scatters its inputs. Where nothing but the code around the loop shows that
    the batch is on the CPU, a data set of the project counts beside loaders of the file as well.
    """
    if own is None or not isinstance(fact, BatchNotMoved):
        return False
    if is_moved_by_model(fact, project) or is_scattered(own, project, fact.at):
        return True
    if fact.fed_alone and _may_bring_inputs(own, project):
        return True
    builds = builds_loaders(own.tree)
    if fact.made_by != "loader" or (builds and not fact.weak):
        return False
    if any(map(defines_placed_data, _saying(project, _ROWS) or ())):
        return True
    if builds or project.saying(_LOADER, beside_code=True) != ():
        return False
    building = [each for each in _saying(project, _LOADER) or () if builds_loaders(each)]
    return bool(building) and all(map(collates_in_place, building))


def _may_bring_inputs(own: ModuleFile, project: Project) -> bool:
    """Whether a model that is not known may bring what it gets to where it is: one of the project moves an argument."""
    trees = [own.tree, *(each for word in _PLACES for each in _saying(project, ("def forward", word)) or ())]
    return any(_moves_own_input(each) for tree in trees for _, each in forwards_in(tree))


def _moves_own_input(forward: ast.FunctionDef) -> bool:
    return not moved_names(forward).isdisjoint(parameter_names(forward))


def is_moved_by_model(fact: BatchNotMoved, project: Project) -> bool:
    """Whether the `forward` of a Module of another file moves what it gets under the name that stayed.

    It moves that itself, or a function of the project does to which it hands it on. A part of a batch has the name that
    it is kept by: ``batch["user"]``.
    """
    name = _name_of(fact.name)
    if fact.led_by or not name.isidentifier():
        return False
    paths = project.saying((name, "forward"))
    for path in paths if paths is not None and len(paths) <= MOST_FILES else ():
        module = project.module(path)
        if module is not None and any(_moves(module, project, each, name) for _, each in forwards_in(module.tree)):
            return True
    return False


def _name_of(text: str) -> str:
    """The name, or the key that is written down, by which a text takes something."""
    taken = _KEY.fullmatch(text)
    return text if taken is None else taken[1]


def _moves(file: ModuleFile, project: Project, forward: ast.FunctionDef, name: str) -> bool:
    if name not in parameter_names(forward):
        return False
    if name in moved_names(forward):
        return True
    for call in nodes_in(forward, ast.Call):
        places = [place for place, each in enumerate(call.args) if dotted_path(each) == name]
        led = defined(project, file.path, file.tree, dotted_path(call.func) or "") if places else None
        for each in () if led is None else led[0].bindings.get(led[1], ()):
            names = positional_names(each)[places[0] :][:1] if isinstance(each, ast.FunctionDef) else []
            if not moved_names(each).isdisjoint(names):
                return True
    return False


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
