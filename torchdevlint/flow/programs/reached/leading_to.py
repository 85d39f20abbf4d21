"""What leads to a place of a file: the names on the way, the programs, and all files."""

from __future__ import annotations

import ast

from torchdevlint.flow.programs.reached.ways import Ways
from torchdevlint.flow.programs.texts.callers import Callers
from torchdevlint.flow.programs.texts.leading_names import names_on_the_way
from torchdevlint.flow.programs.texts.places import expression_at, first_holding
from torchdevlint.model import Span
from torchdevlint.project.modules import ModuleFile, bound_by

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_Leading = tuple[ast.expr | None, frozenset[str], list[ModuleFile], list[ModuleFile]]


class LeadingTo:
    """What leads to the places of one file: called with one of them."""

    def __init__(self, tree: ast.Module, callers: Callers) -> None:
        self._tree = tree
        self._callers = callers
        self._led: dict[Span, _Leading] = {}

    def __call__(self, at: Span) -> _Leading:
        """What is at a place, the names of the functions that lead there, the programs that do so, and all files."""
        if at not in self._led:
            self._led[at] = self._found(at)
        return self._led[at]

    @property
    def own(self) -> ModuleFile | None:
        """The file itself."""
        return self._callers.own

    def is_so(self, at: Span, ways: Ways) -> bool:
        """Whether something happens in the function that holds a place, or in each program that comes there."""
        place, names, programs, _ = self(at)
        if place is not None and self.is_so_within(ways, place):
            return True
        return bool(programs) and all(ways.are_all_so(each, names, place) for each in programs)

    def is_so_within(self, ways: Ways, place: ast.AST) -> bool:
        """Whether something happens in the function that holds a place, or where its object is made."""
        return self.own is not None and ways.is_so_within(self.own, place)

    def _found(self, at: Span) -> _Leading:
        place, around = expression_at(self._tree, at), first_holding(self._tree.body, at.row)
        defines = frozenset(bound_by(around)) if isinstance(around, _DEFINITIONS) else frozenset()
        if place is None:
            return None, frozenset(), [], []
        programs, files = self._callers.programs_for(defines)
        return place, names_on_the_way(files, place), programs, files
