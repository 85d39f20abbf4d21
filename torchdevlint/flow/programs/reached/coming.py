"""The programs of a project that lead to one file, and which of them run a line of it.

A program is what imports the file and is started, be it one that tries what it defines, or the file itself. Where one
is not followed to its end, or another may come there by a text, nobody knows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePath

from torchdevlint.flow.programs.reached.running import Running
from torchdevlint.flow.programs.reached.trial_files import is_class_tried, is_tried_on_cpu, is_unused
from torchdevlint.flow.programs.reached.unreached import Unreached
from torchdevlint.flow.programs.texts.callers import Callers
from torchdevlint.flow.programs.texts.looked_up import LISTING
from torchdevlint.flow.scope.imported_names import defined
from torchdevlint.flow.scope.names import dotted_path, first_name
from torchdevlint.flow.scope.programs import is_program, names_accelerators, without_comments
from torchdevlint.project.modules import ModuleFile, is_main_guard
from torchdevlint.project.packaging import declared_commands
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in
from torchdevlint.source.notebook import NOTEBOOK

_MOST_FILES = 40
_MOST_PROGRAMS = 24
"""Where more programs import a file, it is not asked what they do."""


class Programs:
    """The programs that import one file, or are started as it."""

    def __init__(self, own: ModuleFile, project: Project, callers: Callers) -> None:
        self._own = own
        self._project = project
        self._callers = callers
        self._unreached = Unreached(own.tree, project, callers)
        self._coming: dict[int, list[Running]] = {}

    def coming_to(self, line: int) -> list[Running] | None:
        """The programs that run a line; None where others may, which are not seen."""
        if self._known is None or self._unreached.may_be_found(line):
            return None
        return self.seen_at(line)

    def seen_at(self, line: int) -> list[Running]:
        """The programs that are seen to run a line."""
        if line not in self._coming:
            self._coming[line] = [each for each in self._known or () if each.comes_to(self._own.path, line)]
        return self._coming[line]

    def is_trial(self, program: Running) -> bool:
        """Whether a program is the file itself, which only defines something, or also tries on the CPU what others of
        the project import from it. A notebook is run, and so is a command.
        """
        own = self._own
        if program.program.path != own.path or own.path.endswith(NOTEBOOK) or program.commands:
            return False
        return is_tried_on_cpu(own.tree, is_imported=self._is_imported)

    @property
    def are_of_unknown_ways(self) -> bool:
        """Whether the file is a program itself, and nobody knows all that it runs."""
        return self._known is None and self._is_started(self._own)

    @cached_property
    def are_seen(self) -> bool:
        """Whether some of what leads to the file does by itself what a program does, or did so before."""
        return any(
            is_program(each.tree)
            or each.path.endswith(NOTEBOOK)
            or any(map(is_main_guard, each.tree.body))
            or self._runs(each)
            for each in self._started
        )

    @cached_property
    def _is_imported(self) -> bool:
        return self._callers.is_imported(self._own)

    @cached_property
    def _started(self) -> list[ModuleFile]:
        files = [self._own, *self._callers.parsed(self._callers.importers())]
        return [each for each in files if self._is_started(each)]

    @cached_property
    def _known(self) -> list[Running] | None:
        """The programs; None where one is not known, or there may be others."""
        commands = self._commands
        if not self._started or commands is None or any(map(self._is_imported_unseen, self._started)):
            return None
        files = {each.path: each for each in (*self._started, *commands)}
        started = [
            each for each in files.values() if not self._callers.ends_at_imports(each) and not self._is_left_over(each)
        ]
        if len(started) > _MOST_PROGRAMS or not (self.are_seen or self._project.saying(("__main__",)) != ()):
            return None
        found = [
            Running(each, self._project, self._callers.ends_at_imports, commands.get(each, ())) for each in started
        ]
        return found if all(each.is_known for each in found) else None

    @cached_property
    def _commands(self) -> dict[ModuleFile, tuple[str, ...]] | None:
        """The files that lead here with functions that are installed as commands; None where they are not seen."""
        declared = declared_commands(self._project)
        if declared is None:
            return None
        leading = {each.path: each for each in (self._own, *self._callers.parsed(self._callers.importers()))}
        found: dict[ModuleFile, tuple[str, ...]] = {}
        for module, name in declared:
            path = self._project.locate(self._project.path, module, 0)
            file = None if path is None else leading.get(path) or self._project.library.get(path)
            if file is None or name not in file.bindings:
                return None
            if file.path in leading:
                found[file] = (*found.get(file, ()), name)
        return found

    def _runs(self, file: ModuleFile) -> bool:
        """Whether the top level of a file calls what it made of something from the project: ``experiment.run()``, or
        ``Trainer(model).run()``.
        """
        made = {path for each in file.tree.body for path in _made_by(each) if self._is_own(file, path[1])}
        names = {name for name, _ in made}
        called = [each.value.func for each in file.tree.body if _is_call(each)]  # type: ignore[attr-defined]
        receivers = [each.value for each in called if isinstance(each, ast.Attribute)]
        called += [each.func for each in receivers if isinstance(each, ast.Call)]
        return any(
            first_name(dotted_path(each) or "") in names or (isinstance(each, ast.Name) and self._is_own(file, each.id))
            for each in called
        )

    def _is_own(self, file: ModuleFile, path: str) -> bool:
        """Whether a path of names is that of something in another file of the project."""
        return defined(self._project, file.path, file.tree, path) is not None

    def _is_left_over(self, file: ModuleFile) -> bool:
        """Whether another file only tries its own class, on the CPU, as nobody needs it any longer."""
        if file.path == self._own.path or self._project.importers(file.path) or not is_class_tried(file.tree):
            return False
        asked = Project(file.path, self._project.library)
        is_so = not names_accelerators(without_comments(file.source.text)) and is_unused(file.tree, asked)
        self._project.add(asked)
        return is_so

    def _is_imported_unseen(self, file: ModuleFile) -> bool:
        """Whether nobody is seen to import a file that runs nothing, but another one may: it is not seen which, by all
        the names of its package, or in a comment, as what was run before.
        """
        path = PurePath(file.path)
        if path.stem == "__main__" or file.path.endswith(NOTEBOOK) or self._project.importers(file.path):
            return False
        package = self._project.text_of(str(path.with_name("__init__.py")))
        if (
            package is not None
            and "__all__" in package.text
            and (LISTING.is_in(package.text) or path.stem in package.text)
        ):
            return True
        if is_program(file.tree) or any(map(is_main_guard, file.tree.body)):
            return False
        path = path.parent if path.stem == "__init__" else path.with_suffix("")
        paths = self._project.saying((path.name, "import"))
        if paths is None or len(paths) > _MOST_FILES:
            return True
        put_aside = re.compile(rf"^[ \t]*#.*\b(?:from|import)\b.*\b{re.escape(path.name)}\b", re.MULTILINE)
        for each in paths:
            module = self._project.module(each)
            if module is None or put_aside.search(module.source.text):
                return True
            if any(path.name in names for names in self._leading_nowhere(module, path.parent.name)):
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


def _is_call(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


def _made_by(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """A name that a statement binds to what a call gives, with the path of names that is called."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
        path = dotted_path(statement.value.func)
        names = (each.id for each in statement.targets if isinstance(each, ast.Name))
        yield from ((name, path) for name in names if path is not None)
