"""Callers in other files: what they give the functions of the file that is analysed.

They are asked for only where a finding rests on an argument that may be anywhere. Then the files of the project that
import this one, directly or through others, and name the function are run as they would be for themselves, and what
their calls give is remembered. A function that nobody calls there is one for users of the project.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import islice

from torchdevlint.flow.kinds.programs import functions_of_program, mentions_accelerators
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import once_a_node

MOST_CALLERS = 8
"""How many files are run for one that is analysed; where more name a function, its callers are not known."""
_MOST_IMPORTERS = 200
_LARGEST = 200_000
"""A file with more characters is not run."""

Given = dict[tuple[str, int, str], bool]
"""By the file, line and parameter of a function: whether all calls give it tensors of the CPU."""


class Callers:
    """The callers of the functions of one file; `run` analyses another file and gives what its calls give."""

    def __init__(
        self, tree: ast.Module, project: Project | None, run: Callable[[ModuleFile, Project], Given]
    ) -> None:
        self._tree = tree
        self._project = project
        self._run = run
        self._asked: list[Project] = []
        self._given: dict[str, Given | None] = {}
        self._importers: list[ModuleFile] | None = None

    def give_cpu(self, function: ast.AST, argument: str) -> bool:
        """Whether others call a function, and what they give a parameter is on the CPU in all calls that are known.

        So it is where only programs name the function, and neither they nor this file have to do with accelerators.
        """
        name = _public_names(self._tree).get(function)
        if name is None or self._project is None or self._project.path.endswith(".ipynb"):
            return False
        word = re.compile(rf"\b{re.escape(name)}\b")
        naming = [each for each in self._files() if word.search(each.source.text)]
        if not naming or len(naming) > MOST_CALLERS:
            return False
        if all(functions_of_program(each.tree) for each in naming):
            texts = [each.source.text for each in (*naming, *self._own())]
            if not any(map(mentions_accelerators, texts)):
                return True
        here = self._project.path, function.lineno, argument  # type: ignore[attr-defined]
        known = [given for file in naming if (given := self._given_by(file).get(here)) is not None]
        return bool(known) and all(known)

    def importers(self) -> Iterator[ast.Module]:
        """The files that import this one, directly or not."""
        return (each.tree for each in self._files())

    def keep_what_was_asked(self) -> None:
        """Let the result depend on all that was asked of other files."""
        for each in self._asked:
            if self._project is not None:
                self._project.add(each)

    def _own(self) -> Iterator[ModuleFile]:
        module = self._project.library.get(self._project.path) if self._project is not None else None
        if module is not None:
            yield module

    def _files(self) -> list[ModuleFile]:
        """The files that import this one, or import one that does; the nearest first."""
        if self._importers is None:
            self._importers = list(islice(self._through_imports(), _MOST_IMPORTERS))
        return self._importers

    def _through_imports(self) -> Iterator[ModuleFile]:
        project = self._project
        if project is None:
            return
        asked = Project(project.path, project.library)
        self._asked.append(asked)
        seen, level = {project.path}, [project.path]
        while level:
            found = dict.fromkeys(path for home in level for path in asked.importers(home))
            level = [path for path in found if path not in seen]
            seen.update(level)
            for path in level:
                module = project.library.get(path)
                asked.used(path, "", module)
                if module is not None:
                    yield module

    def _given_by(self, file: ModuleFile) -> Given:
        """What the calls in a file give; nothing where that cannot be told."""
        found = self._given.get(file.path)
        if found is None:
            found = self._given[file.path] = self._told_by(file)
        return found

    def _told_by(self, file: ModuleFile) -> Given:
        if self._project is None or len(file.source.text) > _LARGEST:
            return {}
        asked = Project(file.path, self._project.library)
        self._asked.append(asked)
        try:
            return self._run(file, asked)
        except (RecursionError, MemoryError):
            return {}


@once_a_node
def _public_names(tree: ast.Module) -> dict[ast.AST, str]:
    """The names by which other files call functions of the top level and methods; ``__init__`` by its class."""
    found: dict[ast.AST, str] = {}
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found[statement] = statement.name
        elif isinstance(statement, ast.ClassDef):
            for each in statement.body:
                if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    found[each] = statement.name if each.name.startswith("__") else each.name
    return found
