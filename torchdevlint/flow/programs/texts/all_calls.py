"""All calls that come to a function of a project, where its name alone does not tell them.

A class is built by its derived classes as well, and a method is read by no text where nothing asks objects for what
texts name.
"""

from __future__ import annotations

import ast
from functools import cached_property

from torchdevlint.flow.programs.texts.project_calls import CalledPlace, ProjectCalls, Sites, called_by
from torchdevlint.flow.scope.call_sites import texts_of
from torchdevlint.flow.scope.names import dotted_path, first_name, last_name
from torchdevlint.patterns import LinePattern
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in

_ASKING = "getattr methodcaller attrgetter getmembers eval exec fire _target_"
_ASKING_BY_TEXTS = LinePattern(
    r"(?<![.\w])(?<!def )(?:getattr|eval|exec)\(|\b(?:methodcaller|attrgetter|getmembers|fire|_target_)\b",
    _ASKING,
)
"""How code comes to a method by a text."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class AllCalls:
    """The calls of the functions of a project, seen from one of its files."""

    def __init__(self, own: ModuleFile, project: Project, calls: ProjectCalls) -> None:
        self._own = own
        self._project = project
        self._calls = calls
        self._known: dict[tuple[str, str], Sites | None] = {}

    def of(self, place: CalledPlace) -> Sites | None:
        """The calls of a function; None where not all are seen, or torch or the language calls it."""
        file, function, owner = place
        name = called_by(function, owner)
        if owner is None:
            sites = self._calls.of(file.path, function.name)
            return None if sites is None else [each for each in sites if not _is_of_object(*each)]
        if name is None:
            return None
        return self._building(file.path, name) if function.name == "__init__" else self._calling(file.path, name)

    def _building(self, home: str, name: str) -> Sites | None:
        """What builds objects of a class, be it for one that is derived from it."""
        if (home, name) not in self._known:
            self._known[home, name] = None  # what is derived from itself is built by nobody
            self._known[home, name] = self._calls.found(home, name, self._building_derived)
        return self._known[home, name]

    def _building_derived(self, file: ModuleFile, name: str) -> tuple[Sites | None, int]:
        """The calls by which the classes of a file that are derived from one build it, and how many these are."""
        derived = [each for each in nodes_in(file.tree, ast.ClassDef) if name in map(last_name, each.bases)]
        found: Sites = []
        for each in derived:
            calls = self._calls_of_base(file, each)
            if calls is None or len(each.bases) > 1 or each.keywords:
                return None, 0
            found += calls
        return found, len(derived)

    def _calls_of_base(self, file: ModuleFile, derived: ast.ClassDef) -> Sites | None:
        init = next((each for each in derived.body if getattr(each, "name", "") == "__init__"), None)
        if init is None:
            return self._building(file.path, derived.name)
        calls = (each for each in nodes_in(init, ast.Call) if isinstance(each.func, ast.Attribute))
        return [(file, each) for each in calls if each.func.attr == "__init__" and _is_of_base(each.func.value)]  # type: ignore[attr-defined]

    def _calling(self, home: str, name: str) -> Sites | None:
        if self._asks_by_texts:
            return self._calls.of(home, name)
        if (home, name) not in self._known:
            self._known[home, name] = self._calls.found(home, name, _saying)
        return self._known[home, name]

    @cached_property
    def _asks_by_texts(self) -> bool:
        """Whether code of the project may ask an object for what a text names."""
        if _ASKING_BY_TEXTS.is_in(self._own.source.text):
            return True
        for word in _ASKING.split():
            for path in self._project.saying((word,)) or ():
                text = self._project.text_of(path)
                if text is None or text.says(_ASKING_BY_TEXTS):
                    return True
        return False


def _is_of_object(file: ModuleFile, call: ast.Call) -> bool:
    """Whether a call is that of a method, ``net.train()``, and not one of a function of a module."""
    if not isinstance(call.func, ast.Attribute):
        return False
    brought = {(each.asname or each.name).partition(".")[0] for each in nodes_in(file.tree, ast.alias)}
    path = dotted_path(call.func)
    return brought.isdisjoint(("*", first_name(path or "")))


def _is_of_base(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "super"


def _saying(file: ModuleFile, name: str) -> tuple[Sites | None, int]:
    """How many texts of a file are a name."""
    return [], texts_of(file.tree, name)
