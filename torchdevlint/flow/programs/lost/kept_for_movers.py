"""Lost moves of what objects keep that move what they read, and of what the top level of a script makes for movers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.facts.tensors import DiscardedMove
from torchdevlint.flow.programs.lost.moving_readers import TOLD, Readers
from torchdevlint.flow.programs.texts.places import first_holding, holds
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.call_sites import MOST_FILES, argument_of
from torchdevlint.flow.scope.names import dotted_path, has_stars, last_name, parameter_names
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import assignment_of, nodes_in, own_nodes_in
from torchdevlint.source.notebook import NOTEBOOK

_MOST_HOPS = 3
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign)


def is_kept_for_movers(tree: ast.Module, fact: DiscardedMove, project: Project) -> bool:
    """Whether each read of an attribute that is moved in vain is of its own object, and moves what it reads."""
    owner = first_holding(nodes_in(tree, ast.ClassDef), fact.at.row)
    own, name = project.library.get(project.path), fact.receiver.removeprefix("self.")
    if owner is None or own is None or name == fact.receiver or not name.isidentifier():
        return False
    return _Kept(own, project, owner, fact.at.row).is_moved(name, _MOST_HOPS)


def is_made_for_movers(tree: ast.Module, fact: DiscardedMove, project: Project) -> bool:
    """Whether all that reads later what the top level of a script has moved in vain moves it, or has no need of it.

    It may be kept by an object of the file that moves what it reads. What a notebook makes, or others import, may be
    read elsewhere.
    """
    own, name = project.library.get(project.path), fact.receiver
    lost = next((each for each in tree.body if holds(each, fact.at.row)), None)
    if own is None or not isinstance(lost, ast.Expr) or not name.isidentifier():
        return False
    if project.path.endswith(NOTEBOOK) or project.importers(project.path):
        return False
    if any(name in each.names for each in nodes_in(tree, ast.Global)) or "__all__" in values_by_path(tree):
        return False
    return all(_has_no_need(own, project, read, scope) for read, scope in _reads_behind(tree, name, fact.at.row))


def _reads_behind(tree: ast.Module, name: str, row: int) -> Iterator[tuple[ast.Name, FunctionNode | None]]:
    """What reads a name of the top level behind a line, or in a function, which may be called there."""
    functions = nodes_in(tree, ast.FunctionDef)
    for read in nodes_in(tree, ast.Name):
        if read.id != name or not isinstance(read.ctx, ast.Load):
            continue
        around = [each for each in functions if holds(each, read.lineno)]
        if any(_binds(each, name) for each in around) or (not around and read.lineno <= row):
            continue
        yield read, around[0] if around else None


def _binds(function: FunctionNode, name: str) -> bool:
    names = (each for each in own_nodes_in(function, ast.Name) if not isinstance(each.ctx, ast.Load))
    return name in parameter_names(function) or any(each.id == name for each in names)


def _has_no_need(file: ModuleFile, project: Project, read: ast.Name, scope: FunctionNode | None) -> bool:
    """Whether a read moves what it reads, hands it to an object that does, or has no need of it on a device."""
    readers = Readers(file, project, file.tree if scope is None else scope, {})
    built = next(
        (each for each in nodes_in(file.tree, ast.Call) if any(given is read for given in _given_to(each))), None
    )
    return readers.move(read) or (built is not None and _keeps_for_movers(file, project, built, read))


def _given_to(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (each.value for each in call.keywords)


def _keeps_for_movers(file: ModuleFile, project: Project, built: ast.Call, given: ast.Name) -> bool:
    """Whether a call builds an object of the file that keeps an argument alone, and moves it wherever it reads it."""
    found = [each for each in file.tree.body if isinstance(each, ast.ClassDef) and each.name == dotted_path(built.func)]
    methods = found[0].body if len(found) == 1 and not found[0].decorator_list else []
    init = next((each for each in methods if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    if init is None or has_stars(built):
        return False
    name = next(
        (each for each in parameter_names(init) if argument_of(built, init, each, is_bound=True) is given), None
    )
    kept = [path for path, values in values_by_path(init).items() if any(dotted_path(each) == name for each in values)]
    reads = [each for each in nodes_in(init, ast.Name) if each.id == name]
    told = [each for each in nodes_in(init, ast.Attribute) if each.attr in TOLD and each.value in reads]
    if len(kept) != 1 or not kept[0].startswith("self.") or len(reads) != 1 + len(told):
        return False
    return _Kept(file, project, found[0], 0).is_moved(kept[0].removeprefix("self."), _MOST_HOPS)


class _Kept:
    """What the objects of a class keep; a move is lost in one of its rows."""

    def __init__(self, file: ModuleFile, project: Project, owner: ast.ClassDef, row: int) -> None:
        self._file = file
        self._project = project
        self._row = row
        self._owner = owner
        self._methods = [each for each in owner.body if isinstance(each, ast.FunctionDef)]

    def is_moved(self, name: str, hops: int) -> bool:
        """Whether all that reads an attribute, but above the lost move in its method, moves what it reads."""
        reads = [each for each in nodes_in(self._file.tree, ast.Attribute) if each.attr == name]
        reads = [each for each in reads if isinstance(each.ctx, ast.Load)]
        if hops == 0 or not all(dotted_path(each) == f"self.{name}" for each in reads):
            return False
        return all(self._is_moved_there(each, hops) for each in reads) and not self._is_read_elsewhere(name)

    def _is_moved_there(self, read: ast.Attribute, hops: int) -> bool:
        method = first_holding(self._methods, read.lineno)
        if method is None:
            return False
        if read.lineno < self._row and holds(method, self._row):
            return True
        readers = Readers(self._file, self._project, method, {})
        made = list(self._made_of(method, read, readers))
        return readers.move(read) or (len(made) == 1 and self.is_moved(made[0], hops - 1))

    @staticmethod
    def _made_of(method: ast.FunctionDef, read: ast.Attribute, readers: Readers) -> Iterator[str]:
        """What an object keeps that is made of what is read alone: ``self.alphas = 1 - self.betas``."""
        for statement in (each for kind in _ASSIGNMENTS for each in nodes_in(method, kind)):
            bound = assignment_of(statement)
            if bound is None or not any(each is read for each in nodes_in(bound.value, ast.Attribute)):
                continue
            kept = [dotted_path(each) or "" for each in bound.targets]
            if len(kept) == 1 and kept[0].startswith("self.") and readers.is_made_of(bound.value, read):
                yield kept[0].removeprefix("self.")

    def _is_read_elsewhere(self, name: str) -> bool:
        """Whether another file may read an attribute of the name, be it by a text."""
        paths = self._project.saying((name,))
        if paths is None or len(paths) > MOST_FILES:
            return True
        found = [self._project.library.get(each) for each in paths]
        for path, module in zip(paths, found, strict=True):
            self._project.used(path, "", module)
        return any(each is None or self._may_be_read_in(each.tree, name) for each in found)

    def _may_be_read_in(self, tree: ast.Module, name: str) -> bool:
        """Whether a file asks for an attribute of the name; what objects of other classes keep themselves is theirs."""
        bases = [last_name(base) for each in nodes_in(tree, ast.ClassDef) for base in each.bases]
        asked = [each for each in nodes_in(tree, ast.Attribute) if each.attr == name]
        others = [each for each in asked if dotted_path(each) != f"self.{name}"]
        is_said = any(each.value == name for each in nodes_in(tree, ast.Constant))
        return bool(others) or is_said or (bool(asked) and self._owner.name in bases)
