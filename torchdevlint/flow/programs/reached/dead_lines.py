"""Lines of an application that no program of it comes to: in what nothing names, in arms that no call turns on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePath

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.programs.reached.application import Application
from torchdevlint.flow.programs.reached.left_on_cpu import is_left_on_cpu
from torchdevlint.flow.programs.reached.options_off import OptionsOff
from torchdevlint.flow.programs.reached.overwritten import is_overwritten
from torchdevlint.flow.programs.reached.unreached import Unreached
from torchdevlint.flow.programs.texts.callers import Callers
from torchdevlint.flow.programs.texts.places import first_holding
from torchdevlint.flow.scope.programs import is_program
from torchdevlint.model import Span
from torchdevlint.patterns import regex
from torchdevlint.project.missing import asks_for_what_is_nowhere
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.packaging import is_downloaded, is_more_than_a_package
from torchdevlint.project.uses import Project
from torchdevlint.source.notebook import NOTEBOOK

_PRIVATE = regex(r"_(?!\w*__$)")


class DeadLines:
    """The lines of one file of a project that has no users but its own programs."""

    def __init__(self, own: ModuleFile | None, project: Project, callers: Callers, application: Application) -> None:
        self._own = own
        self._project = project
        self._callers = callers
        self._application = application

    def hold(self, at: Span, *, is_seen: bool, stands_alone: bool = False) -> bool:
        """Whether no program comes to a place.

        Where it is not seen how the file is imported, only what no text of the project says is surely dead, and what
        ends at its imports; and only if there are programs, as a notebook is one: otherwise the project is for others.
        All calls in a program that stands alone are there.
        """
        line, programs = at.row, self._application.programs
        if self._is_overwritten(line):
            return True
        has_programs = self._project.path.endswith(NOTEBOOK) or self._project.saying(("__main__",)) != ()
        are_seen = programs is not None and (programs.are_seen or (self._application.is_of_several and has_programs))
        coming = programs.coming_to(line) if programs is not None and are_seen else None
        if programs is not None and coming is not None and all(map(programs.is_trial, coming)):
            return True
        if is_seen:
            is_unreached = coming is None and self._unreached is not None and self._unreached.holds(line)
            return self._is_gone or is_unreached or self._application.mentions.is_never_read(line) or self._is_off(at)
        if stands_alone and self._application.is_of_several and self._is_off(at):
            return True
        if not self._application.is_of_several or not has_programs:
            return False
        is_gone = self._application.cannot_be_imported or self._asks_for_what_is_nowhere
        return is_gone or self._application.mentions.is_never_read(line) or self._is_off(at)

    def are_private(self, line: int) -> bool:
        """Whether a line is in a private function of the top level that nothing reads, be it one of a library.

        What reads one of a few files may be elsewhere; what another definition replaces is never there to be read.
        """
        if self._is_overwritten(line):
            return True
        if not self._application.is_of_several:
            return False
        around = None if self._own is None else first_holding(self._own.tree.body, line)
        if not isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef)) or not _PRIVATE.match(around.name):
            return False
        leading = [each.names for each in self._callers.ways_to(frozenset({around.name}))]
        return leading == [{around.name}] and self._unreached is not None and self._unreached.holds(line)

    def leave_on_cpu(self, fact: Fact) -> bool:
        """Whether all calls in an application leave a fact's device at the CPU, or take another arm."""
        is_whole = self._application.has_no_users and self._application.is_of_several
        return is_whole and self._options_off is not None and is_left_on_cpu(fact, self._options_off)

    def _is_overwritten(self, line: int) -> bool:
        return self._own is not None and not self._own.path.endswith(NOTEBOOK) and is_overwritten(self._own.tree, line)

    def _is_off(self, at: Span) -> bool:
        return self._options_off is not None and self._options_off.hold(at)

    @cached_property
    def is_for_nobody(self) -> bool:
        """Whether the file ends at its imports, be it for the users of a library; what was downloaded is whole.

        Of files that were taken out of a repository, with nothing around them, the rest may be where it was.
        """
        is_whole = not is_more_than_a_package(self._project) or is_downloaded(self._project)
        return not is_whole and self._is_gone

    @cached_property
    def _is_gone(self) -> bool:
        """Whether the file ends at its imports, or at those of what it imports, or of a package around it."""
        files = () if self._own is None else (self._own, *self._packages(self._own))
        return self._asks_for_what_is_nowhere or any(map(self._callers.ends_at_imports, files))

    @cached_property
    def _asks_for_what_is_nowhere(self) -> bool:
        return self._own is not None and asks_for_what_is_nowhere(self._own.tree, self._project)

    def _packages(self, own: ModuleFile) -> Iterator[ModuleFile]:
        """What is read before the file, where it is imported: a program is started by its path."""
        folder = PurePath(own.path).parent
        while not is_program(own.tree):
            path = str(folder / "__init__.py")
            package = None if path == own.path else self._project.library.get(path)
            if package is None and path != own.path:
                return
            self._project.used(path, "", package)
            if package is not None:
                yield package
            folder = folder.parent

    @cached_property
    def _unreached(self) -> Unreached | None:
        return None if self._own is None else Unreached(self._own.tree, self._project, self._callers)

    @cached_property
    def _options_off(self) -> OptionsOff | None:
        return None if self._own is None else OptionsOff(self._own, self._project)
