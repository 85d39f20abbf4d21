"""Lost moves that a program has no need of, be it of what an object keeps.

Nothing reads it again but to move it, or all that reads it moves it, or what is made of it, to a device itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.facts.tensors import DiscardedMove
from torchdevlint.flow.programs.moved_results import is_moved_next, is_never_read_again
from torchdevlint.flow.programs.moving_readers import Readers, is_moved_by_readers
from torchdevlint.flow.programs.places import first_holding, holds
from torchdevlint.flow.scope.call_sites import MOST_FILES
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import assignment_of, nodes_in

_MOST_HOPS = 3
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign)


def is_lost_in_vain(tree: ast.Module, fact: DiscardedMove, project: Project) -> bool:
    """Whether the function, or the class, that loses a move has no need of it."""
    if is_never_read_again(tree, fact) or is_moved_next(tree, fact) or is_moved_by_readers(tree, fact, project):
        return True
    return _is_kept_for_movers(tree, fact, project)


def _is_kept_for_movers(tree: ast.Module, fact: DiscardedMove, project: Project) -> bool:
    """Whether each read of an attribute that is moved in vain is of its own object, and moves what it reads."""
    owner = first_holding(nodes_in(tree, ast.ClassDef), fact.at.row)
    own, name = project.library.get(project.path), fact.receiver.removeprefix("self.")
    if owner is None or own is None or name == fact.receiver or not name.isidentifier():
        return False
    return _Kept(own, project, owner, fact.at.row).is_moved(name, _MOST_HOPS)


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
