"""Whether what a line works on can be on an accelerator in some program of an application.

A tensor that is made on the default device is wrong where something else is on an accelerator. In an application all
programs are there to be read: one has to come to the line, and to bring something to an accelerator.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePath

from torchdevlint.flow.facts.common import Fact, Operand
from torchdevlint.flow.facts.modules import LossNotMoved
from torchdevlint.flow.facts.tensors import BatchNotMoved, MixedDevices, ReadOnHost
from torchdevlint.flow.programs.application import Application
from torchdevlint.flow.programs.callers import Callers
from torchdevlint.flow.programs.placed_values import PlacedValues
from torchdevlint.flow.programs.places import expression_of, first_holding
from torchdevlint.flow.programs.running import Running
from torchdevlint.flow.programs.unreached import Unreached
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.programs import is_program
from torchdevlint.project.modules import ModuleFile, is_main_guard
from torchdevlint.project.packaging import declares_commands
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in
from torchdevlint.source.notebook import NOTEBOOK

_MIXING = (BatchNotMoved, LossNotMoved, MixedDevices, ReadOnHost)
"""What hurts where something is on an accelerator."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST_FILES = 40
_MOST_CODE = 2500
"""Where a program runs more functions and statements of the top level, it is not asked where its values go."""
_MOST_PROGRAMS = 24
"""Where more programs import a file, it is not asked what they do."""


class OnAccelerators:
    """The programs of an application that import one file, or are started as it, where all of them are there."""

    def __init__(self, project: Project | None, callers: Callers, application: Application) -> None:
        self._project = project
        self._callers = callers
        self._application = application

    def have_use_for(self, fact: Fact) -> bool:
        """Whether a program may be hurt by what a fact says of tensors that are on different devices."""
        ways = self._ways if isinstance(fact, _MIXING) and not fact.at.file else None
        return ways is None or ways.may_hold(fact.at.row, _placed(fact))

    def show(self, fact: Fact) -> bool:
        """Whether a program is seen to come to a line with an operand that is on an accelerator."""
        ways = self._ways if isinstance(fact, _MIXING) and not fact.at.file else None
        return ways is not None and ways.holds(fact.at.row, _placed(fact))

    @cached_property
    def _ways(self) -> _Ways | None:
        project = self._project
        if project is None or not self._application.has_no_users or not self._application.is_of_several:
            return None
        own = self._callers.own
        return None if own is None else _Ways(own, project, self._callers)


def _placed(fact: Fact) -> Operand:
    """The operand that a fact says to be on an accelerator."""
    return fact.value if isinstance(fact, ReadOnHost) else fact.other  # type: ignore[attr-defined]


class _Ways:
    """What the programs that come to one file do on their ways."""

    def __init__(self, own: ModuleFile, project: Project, callers: Callers) -> None:
        self._own = own
        self._project = project
        self._callers = callers
        self._unreached = Unreached(own.tree, project, callers)
        self._placed: dict[int, PlacedValues] = {}

    def may_hold(self, line: int, operand: Operand) -> bool:
        """Whether a program may come to a line with an operand that is on an accelerator; also where nobody knows."""
        programs = self._programs
        if programs is None or self._unreached.may_be_found(line):
            return True
        coming = [each for each in programs if each.comes_to(self._own.path, line)]
        return any(self._is_placed(each, operand) for each in coming)

    def holds(self, line: int, operand: Operand) -> bool:
        """Whether a program surely comes to a line with an operand that may be on an accelerator."""
        coming = (each for each in self._programs or () if each.comes_to(self._own.path, line))
        return any(self._is_placed(each, operand, unknown=False) for each in coming)

    @cached_property
    def _programs(self) -> list[Running] | None:
        """The programs; None where one is not known, or there may be others."""
        files = [self._own, *self._callers.parsed(self._callers.importers())]
        started = [each for each in files if self._is_started(each)]
        if len(started) > _MOST_PROGRAMS or declares_commands(self._project) or not self._is_of_programs(started):
            return None
        found = [Running(each, self._project) for each in started]
        return found if all(each.is_known for each in found) else None

    def _is_of_programs(self, started: list[ModuleFile]) -> bool:
        """Whether a program leads to the file, or others are there, and none imports it in a way that is not seen."""
        if any(is_program(each.tree) or each.path.endswith(NOTEBOOK) for each in started):
            return True
        return self._project.saying(("__main__",)) != () and not self._is_imported_unseen

    @cached_property
    def _is_imported_unseen(self) -> bool:
        """Whether another file imports a module of the name of this one, and it is not seen which."""
        path = PurePath(self._own.path)
        path = path.parent if path.stem == "__init__" else path.with_suffix("")
        paths = self._project.saying((path.name, "import"))
        if paths is None or len(paths) > _MOST_FILES:
            return True
        for each in paths:
            module = self._project.library.get(each)
            self._project.used(each, "", module)
            if module is None or any(path.name in names for names in self._leading_nowhere(module, path.parent.name)):
                return True
        return False

    def _leading_nowhere(self, file: ModuleFile, package: str) -> Iterator[tuple[str, ...]]:
        """The names of each module that a file imports, and that is nowhere in the project; those of a package too."""
        for node in nodes_in(file.tree, ast.Import):
            held = (each.name for each in node.names if self._project.locate(file.path, each.name, 0) is None)
            yield from (tuple(each.split(".")) for each in held)
        for imported in nodes_in(file.tree, ast.ImportFrom):
            names = tuple((imported.module or "").split("."))
            if self._project.locate(file.path, imported.module or "", imported.level) is None:
                yield (*names, *(each.name for each in imported.names)) if names[-1] in ("", package) else names

    def _is_started(self, file: ModuleFile) -> bool:
        """Whether a file is a program, be it one that tries what it defines, or nobody imports it."""
        if file.path.endswith(NOTEBOOK) or is_program(file.tree) or any(map(is_main_guard, file.tree.body)):
            return True
        return not self._project.importers(file.path)

    def _is_placed(self, program: Running, operand: Operand, *, unknown: bool = True) -> bool:
        """Whether an operand may be on an accelerator in a program; `unknown` where that is not asked."""
        file = program.file(self._own.path)
        node = None if file is None else expression_of(file.tree, operand.span)
        if file is None or node is None or len(program.scopes) > _MOST_CODE:
            return unknown
        if id(program) not in self._placed:
            self._placed[id(program)] = PlacedValues(program)
        return self._placed[id(program)].may_be_placed(_scope_of(file, self._project, operand.span.row), node)


def _scope_of(file: ModuleFile, project: Project, line: int) -> Scope:
    """The function of the top level, or the method, that holds a line."""
    outer = first_holding(file.tree.body, line)
    owner = outer if isinstance(outer, ast.ClassDef) else None
    inner = first_holding(owner.body, line) if owner is not None else outer
    return Scope(file, project, inner if isinstance(inner, _FUNCTIONS) else None, owner)
