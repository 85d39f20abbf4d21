"""What stands of the facts of a file, when all of it was run: asked of the files and programs that it is part of.

It is imported where a fact was recorded, since most files have none.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.programs.hurts_nobody import Harm
from torchdevlint.flow.programs.placed.on_accelerators import OnAccelerators
from torchdevlint.flow.programs.reached.application import Application
from torchdevlint.flow.programs.texts.callers import Callers, Given
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.verdicts import founded, nearest
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project


class Grading:
    """What the project says of the facts of one of its files; `run` is that of `Callers`."""

    def __init__(
        self, tree: ast.Module, text: str, project: Project | None, run: Callable[[ModuleFile, Project, str], Given]
    ) -> None:
        self._callers = Callers(tree, project, run)
        self._application = Application(tree, text, project, self._callers)
        self._on_accelerators = OnAccelerators(project, self._application)
        self._harm = Harm(tree, text, project, self._callers, self._application, self._on_accelerators)

    def standing(self, machine: Machine, settled: Callable[[Machine, Fact], Fact]) -> list[Fact]:
        """The facts that a machine holds at its end and that stand, in source order."""
        held = [settled(machine, fact) for fact in founded(machine, self._callers.give_cpu, self._callers.place)]
        useful = map(self._graded, filter(self._application.has_use_for, held))
        return sorted(nearest(useful), key=lambda fact: (fact.at, type(fact).__name__))

    def _graded(self, fact: Fact) -> Fact:
        """The fact with what the programs that come to it say of how bad it is."""
        graded = self._harm.graded(fact)
        if graded.hurts_nobody or self._on_accelerators.have_use_for(graded):
            return graded
        return replace(graded, hurts_nobody=True)

    def entry_scripts(self) -> Iterator[ast.Module]:
        """The files that import this one, directly or not, and that nobody imports."""
        return self._callers.entry_scripts()

    def keep_what_was_asked(self) -> None:
        """Let the result depend on all that was asked of other files."""
        self._callers.keep_what_was_asked()
