"""The functions and classes of one program: their methods, bases and code, by file and line."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from torchdevlint.flow.programs.running import Running
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.source.nodes import nodes_in

PLACED = "placed"
Definition = tuple[str, int]
"""A function or class, by its file and line."""


class Object(NamedTuple):
    """An object of a class."""

    of: Definition


Token = str | Definition | Object
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Definitions:
    """What a program comes to, once `running` knows it."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self.scope_of: dict[Definition, tuple[Scope, ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        """The functions, each with the method or function of the top level that it stands in."""
        self.bases: dict[Definition, list[Definition]] = {}
        """The classes, with those of the program that they are derived from."""
        self._methods: defaultdict[str, list[Definition]] = defaultdict(list)
        self._of_class: defaultdict[Definition, dict[str, Definition]] = defaultdict(dict)
        self._derived: dict[Definition, list[Definition]] = {}
        self._class_of: dict[Definition, Definition] = {}
        for scope, node in running.scopes:
            self._register(scope, node)

    def is_method(self, function: Token) -> bool:
        """Whether a function is a method."""
        return function in self._class_of

    def _register(self, scope: Scope, node: ast.stmt) -> None:
        path = scope.file.path
        for each in (node, *nodes_in(node, ast.FunctionDef), *nodes_in(node, ast.AsyncFunctionDef)):
            if isinstance(each, _FUNCTIONS):
                self.scope_of[path, each.lineno] = scope, each
        if scope.owner is None:
            return
        owner = path, scope.owner.lineno
        if owner not in self.bases:
            bases = (dotted_path(each) for each in scope.owner.bases)
            found = [each for base in bases if base for each in self._running.bound(scope.file, base)]
            self.bases[owner] = [(home.path, each.lineno) for home, each in found if isinstance(each, ast.ClassDef)]
            for held in self.bases[owner]:
                self._derived.setdefault(held, []).append(owner)
        if isinstance(node, _FUNCTIONS):
            self._methods[node.name].append((path, node.lineno))
            self._of_class[owner][node.name] = path, node.lineno
            self._class_of[path, node.lineno] = owner

    def methods_of(self, base: Iterable[Token], name: str) -> set[Token]:
        """The methods of a name that an object may have: those of its classes, or of any where these are not known."""
        level = [each.of if isinstance(each, Object) else each for each in base if each != PLACED]
        level = [each for each in level if each in self.bases]
        name = "forward" if name == "apply" else name
        if not level:
            return set() if any(each in self.scope_of for each in base) else set(self._methods[name])
        found: set[Token] = set()
        seen: set[Token] = set()
        while level:
            each = level.pop()
            seen.add(each)
            if name in self._of_class[each]:  # type: ignore[index]
                found.add(self._of_class[each][name])  # type: ignore[index]
            level += [base for base in self.bases.get(each, ()) if base not in seen]  # type: ignore[arg-type]
        derived = (other for each in seen for other in self._derived.get(each, ()))  # type: ignore[arg-type]
        found.update(self._of_class[each][name] for each in derived if name in self._of_class[each])
        return found
