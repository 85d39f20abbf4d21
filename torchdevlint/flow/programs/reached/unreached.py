"""What no program of an application comes to: functions and classes that are defined and that nothing runs.

Names decide, over all files on the way: a definition is reached if something that is run reads a name which leads
there. So it is if it may be found otherwise: by a decorator that registers it, by its text, or in a configuration.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePath

from torchdevlint.flow.programs.texts.callers import Callers, Leading
from torchdevlint.flow.programs.texts.looked_up import LOADED_BY_NAME, finds, looking_names_up, may_load
from torchdevlint.flow.programs.texts.mentions import is_written
from torchdevlint.flow.programs.texts.places import first_holding
from torchdevlint.flow.programs.texts.written_names import FOR_PEOPLE, as_code, is_written_as_path
from torchdevlint.flow.scope.decorators import is_registered
from torchdevlint.flow.scope.programs import read_of_modules
from torchdevlint.patterns import LinePattern
from torchdevlint.project.copies import is_of_copy
from torchdevlint.project.modules import ModuleFile, bound_by
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in
from torchdevlint.source.notebook import NOTEBOOK

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_MOST_NAMES = 12
"""Where more definitions lead to a place, nobody knows who reads one of them."""
_MOST_FILES = 40
_COMMANDS = LinePattern(r"\bfire\b|\btyper\b|\bplac\b|\bdefopt\b|\btyro\b", "fire typer plac defopt tyro")


class Unreached:
    """The definitions of one file, with the `callers` that may lead to them."""

    def __init__(self, tree: ast.Module, project: Project, callers: Callers) -> None:
        self._tree = tree
        self._project = project
        self._callers = callers
        self._known: dict[str, bool] = {}

    def holds(self, line: int) -> bool:
        """Whether a line is in a definition of the top level that no program of the project comes to."""
        around = first_holding(self._tree.body, line)
        if not isinstance(around, _DEFINITIONS) or self._project.path.endswith(NOTEBOOK):
            return False
        if around.name not in self._known:
            self._known[around.name] = not self._is_reached(around.name)
        return self._known[around.name]

    def may_be_found(self, line: int) -> bool:
        """Whether other programs may come to a line than those that import it: by a text that is a path of names.

        What a text means to the files that import it, they look up themselves.
        """
        if self._project.path.endswith(NOTEBOOK):
            return False
        around = first_holding(self._tree.body, line)
        name = around.name if isinstance(around, _DEFINITIONS) else ""
        ways = self._callers.ways_to(frozenset({name} if name else ()))
        if not ways or any(self._may_be_loaded(word, ways) for word in LOADED_BY_NAME):
            return True
        leading = [each for way in ways for each in _on_the_way(way) if isinstance(each, _DEFINITIONS)]
        names = {each.name for each in leading if isinstance(each, ast.ClassDef)} | ({name} if name else set())
        if any(self._is_written_as_path(each) for each in sorted(names)):
            return True
        if isinstance(around, ast.ClassDef) and self._callers.importers() and self._is_text(name):
            return True  # what nobody imports, or loads, no text is looked up in
        return any(self._is_imported_beside(each) for each in sorted({each.name for each in leading} - names))

    def _is_text(self, name: str) -> bool:
        """Whether some code has a name as a text, or as the end of a path."""
        saying = self._saying(name)
        return saying is None or any(each is None or is_written(each.tree, name) for each in saying)

    def _is_imported_beside(self, name: str) -> bool:
        """Whether a document imports a name."""
        imported = re.compile(rf"\bimport\b[^\n]*\b{re.escape(name)}\b")
        paths = self._project.saying((name,), beside_code=True) or ()
        texts = (self._project.text_of(each) for each in paths if PurePath(each).suffix in FOR_PEOPLE)
        return any(each is not None and imported.search(each.text) for each in texts)

    def _is_written_as_path(self, name: str) -> bool:
        """Whether a configuration has a name as a value, or says it with its module, or a document as code."""
        paths = self._project.saying((name,), beside_code=True)
        if paths is None:
            return True
        for path in paths:
            text = None if path.endswith(NOTEBOOK) or is_of_copy(path, self._project) else self._project.text_of(path)
            if text is not None and is_written_as_path(path, text.text, name):
                return True
        return False

    def _is_reached(self, name: str) -> bool:
        ways = self._callers.ways_to(frozenset({name}))
        if not ways or any(each.runs or each.file.path.endswith(NOTEBOOK) for each in ways):
            return True
        leading = [(each, statement) for each in ways for statement in _on_the_way(each)]
        if any(_is_run(each.names, statement) for each, statement in leading):
            return True
        names = {statement.name for _, statement in leading if isinstance(statement, _DEFINITIONS)}
        return len(names) > _MOST_NAMES or self._is_looked_up(ways) or self._may_be_found(name, names, ways)

    def _is_looked_up(self, ways: list[Leading]) -> bool:
        """Whether a file that leads here, or imports what does, may look up a name that leads on."""
        meant = {each.file.path: each.names for each in ways}
        files = {each.file.path: each.file for each in ways}
        files.update({each.path: each for each in self._callers.parsed(looking_names_up(self._callers.importers()))})
        return any(finds(each, meant, self._project) for each in files.values())

    def _may_be_found(self, own: str, names: set[str], ways: list[Leading]) -> bool:
        """Whether a name may be written as a text: in a configuration, or anywhere for `own`.

        So may be the name of a file that leads here.
        """
        if any(self._may_be_loaded(word, ways) for word in LOADED_BY_NAME):
            return True
        if any(self._is_written_beside(each, ways) for each in sorted(names)):
            return True
        return self._is_text(own)

    def _may_be_loaded(self, word: str, ways: list[Leading]) -> bool:
        """Whether a file that says so may load one that leads here by a text."""
        saying = self._saying(word)
        paths = {each.file.path for each in ways}
        return saying is None or any(
            each is None or any(may_load(each, path, self._project) for path in paths) for each in saying
        )

    def _saying(self, word: str) -> list[ModuleFile | None] | None:
        """The other files that say a word, None for one that cannot be parsed; None for too many."""
        paths = self._project.saying((word,))
        if paths is None or len(paths) > _MOST_FILES:
            return None
        found = [self._project.library.get(each) for each in paths]
        for path, module in zip(paths, found, strict=True):
            self._project.used(path, "", module)
        return found

    def _is_written_beside(self, name: str, ways: list[Leading]) -> bool:
        """Whether what lies beside the code says a name: a configuration in any way, others as one of code.

        Programs whose commands are functions have any word for one. What notebooks say was read with the code.
        """
        paths = self._project.saying((name,), beside_code=True)
        if paths is None or (paths and any(_COMMANDS.is_in(each.file.source.text) for each in ways)):
            return True
        written = as_code(name)
        for path in paths:
            if path.endswith(NOTEBOOK) or is_of_copy(path, self._project):
                continue
            text = self._project.text_of(path) if PurePath(path).suffix in FOR_PEOPLE else None
            if text is None or written.search(text.text) is not None:
                return True
        return False


def _on_the_way(leading: Leading) -> Iterator[ast.stmt]:
    """The statements of the top level of a file that read one of the names which lead on, and those that bind them."""
    read = read_of_modules(leading.file.tree)
    for statement in leading.file.tree.body:
        if not leading.names.isdisjoint(bound_by(statement)) or not leading.names.isdisjoint(read[statement]):
            yield statement


def _reads(node: ast.AST, names: frozenset[str]) -> bool:
    read = any(each.id in names and isinstance(each.ctx, ast.Load) for each in nodes_in(node, ast.Name))
    return read or any(each.attr in names for each in nodes_in(node, ast.Attribute))


def _is_run(names: frozenset[str], statement: ast.stmt) -> bool:
    """Whether a statement that leads on is run when its file is, be it a trial, or hands what it defines to others."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return False
    if isinstance(statement, _DEFINITIONS):
        return is_registered(statement)
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return any(_reads(each, names) for each in nodes_in(statement, ast.Call))
    return True
