"""Functions and classes of an application that nothing reads: neither code, nor a notebook, nor a configuration."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.texts.leading_names import LIGHTNING, OF_LIGHTNING
from torchdevlint.flow.programs.texts.looked_up import finds, looking_names_up
from torchdevlint.flow.programs.texts.places import holds
from torchdevlint.flow.programs.texts.written_names import as_code, is_quoted, is_written_as_path
from torchdevlint.flow.scope.asserted import asked_in
from torchdevlint.flow.scope.decorators import is_registered
from torchdevlint.flow.scope.imported_names import defined, is_of_library
from torchdevlint.flow.scope.names import dotted_path, last_name, public_path
from torchdevlint.patterns import regex
from torchdevlint.project.modules import ModuleText, bound_by
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import inside, nodes_in, once_a_node
from torchdevlint.source.notebook import NOTEBOOK

_Lineage = list[str | ast.ClassDef]
"""A class and its bases: those of the project, and the public names of others."""
_Definition = FunctionNode | ast.ClassDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_PLAIN_BASES = frozenset(
    "object torch.nn.Module abc.ABC torch.utils.data.Dataset torch.utils.data.dataset.Dataset "
    "torch.utils.data.IterableDataset".split()
)
_OF_STEP = regex(r"on_(validation|test)_\w+|(validation|test)_(?:step|epoch)_end")
"""Hooks around a step that a LightningModule may leave out: without the step, none of them is called.

`Trainer.enable_validation` asks for an overridden `validation_step`, and `Trainer.test` refuses a Module without
`test_step` (lightning/pytorch/trainer/trainer.py, configuration_validator.py).
"""
_MOST_FILES = 40
_MOST_HOPS = 4
_WITH_OBJECTS = (".md", ".rst", ".txt", NOTEBOOK)
_BEFORE = (".", "/", ":")
"""What stands before a name in a path of names or files."""


class Mentions:
    """Where the names of the definitions of one file are read, which `importers` import, directly or not."""

    def __init__(self, tree: ast.Module, project: Project, importers: Iterable[ModuleText]) -> None:
        self._tree = tree
        self._project = project
        self._importers = list(importers)
        self._known: dict[_Definition, bool] = {}

    def is_never_read(self, line: int) -> bool:
        """Whether a line stands in a definition whose name is said nowhere but in the definition itself.

        What is decorated may be registered, and what overrides something of a library is called by that.
        """
        return any(map(self._is_never_read, self._definitions_around(line)))

    def _definitions_around(self, line: int) -> Iterator[_Definition]:
        """The definition of the top level that holds a line, and the method, if other code calls that by name alone."""
        for outer in self._tree.body:
            if not isinstance(outer, _DEFINITIONS) or not holds(outer, line):
                continue
            yield outer
            lineage = self._lineage(self._project.path, self._tree, outer) if isinstance(outer, ast.ClassDef) else None
            if lineage is None:
                continue
            for inner in outer.body:
                if isinstance(inner, _DEFINITIONS) and holds(inner, line) and self._is_called_by_name(inner, lineage):
                    yield inner

    def _is_called_by_name(self, method: _Definition, lineage: _Lineage) -> bool:
        """Whether only those who write the name of a method call it."""
        if method.name.startswith("__") or method.name in torch_api.MODULE_ATTRIBUTES:
            return False
        if LIGHTNING.isdisjoint(lineage) or OF_LIGHTNING.fullmatch(method.name) is None:
            return True
        hook = _OF_STEP.fullmatch(method.name)
        step = "" if hook is None else f"{hook[1] or hook[2]}_step"
        classes = [each for each in lineage if isinstance(each, ast.ClassDef)]
        return hook is not None and not self._may_have(step, classes)

    def _may_have(self, name: str, classes: list[ast.ClassDef]) -> bool:
        """Whether one of a class and its bases binds a name, or what is derived from the class may do so."""
        if any(name in bound_by(each) for owner in classes for each in owner.body):
            return True
        if any(each.attr == name and isinstance(each.ctx, ast.Store) for each in nodes_in(self._tree, ast.Attribute)):
            return True
        derived = re.compile(rf"\bclass\s+\w+\s*\([^)]*\b{re.escape(classes[0].name)}\b")
        own = (last_name(base) for owner in nodes_in(self._tree, ast.ClassDef) for base in owner.bases)
        return classes[0].name in own or any(derived.search(each.text) for each in self._importers)

    def _lineage(self, home: str, tree: ast.Module, node: ast.ClassDef, hops: int = _MOST_HOPS) -> _Lineage | None:
        """A class and its bases, if none calls any but known methods: `torch.nn.Module` calls those of its own only."""
        found: _Lineage = [node]
        for base in node.bases:
            path = public_path(base)
            if path in _PLAIN_BASES or path in LIGHTNING:
                found.append(path)
                continue
            led = defined(self._project, home, tree, dotted_path(base) or "") if hops else None
            owners = () if led is None else led[0].bindings.get(led[1], ())
            if led is None or len(owners) != 1 or not isinstance(owners[0], ast.ClassDef):
                return None
            beyond = self._lineage(led[0].path, led[0].tree, owners[0], hops - 1)
            if beyond is None:
                return None
            found += beyond
        return None if node.keywords else found

    def _is_never_read(self, node: _Definition) -> bool:
        if node not in self._known:
            self._known[node] = not _is_called_by_others(node) and self._is_unsaid(node)
        return self._known[node]

    def _is_unsaid(self, node: _Definition) -> bool:
        if self._is_said_here(node) or self._may_be_found_by_text(node):
            return False
        if self._project.path.endswith(NOTEBOOK):
            return True  # what a notebook defines is there for its own cells
        beside = self._project.saying((node.name,), beside_code=True)
        if beside is None or any(self._is_said_beside(path, node) for path in beside):
            return False
        paths = self._project.saying((node.name,))
        if paths is None or len(paths) > _MOST_FILES:
            return False
        word = re.compile(rf"\b{re.escape(node.name)}\b")
        notebooks = [path for path in beside if path.endswith(NOTEBOOK) and node in self._tree.body]
        texts = [text for path in (*paths, *notebooks) if (text := self._project.text_of(path)) is not None]
        return not any(self._may_mean_it(each, node, word) for each in texts)

    def _is_said_beside(self, path: str, node: _Definition) -> bool:
        """Whether what is no code may mean a definition; documents and notebooks write a method with its object."""
        if node in self._tree.body:
            # the code of a notebook is read as that of other files
            return not path.endswith(NOTEBOOK) and self._is_written_beside(path, node.name)
        if not path.endswith(_WITH_OBJECTS):
            return True
        text = self._project.text_of(path)
        return text is None or re.search(rf"[.'\"`]{re.escape(node.name)}\b", text.text) is not None

    def _is_written_beside(self, path: str, name: str) -> bool:
        text = self._project.text_of(path)
        return text is None or is_quoted(text.text, name) or is_written_as_path(path, text.text, name)

    def _is_said_here(self, node: _Definition) -> bool:
        """Whether the file reads the name outside of the definition; that of a method, outside of others never read."""
        own = {id(each) for each in inside(node)}
        if node in self._tree.body:
            found = _reading(self._tree, node.name, self._project.path, self._project)
            is_written = _is_written_in(self._tree, node.name)
            return any(id(each) not in own and (is_written or not isinstance(each, ast.Constant)) for each in found)
        self._known[node] = False
        found = _reading_method(self._tree, node, self._project.path, self._project)
        reading = (each for each in found if id(each) not in own)
        return any(not self._is_in_what_is_never_read(each, node) for each in reading)

    def _is_in_what_is_never_read(self, read: ast.AST, node: _Definition) -> bool:
        around = self._definitions_around(getattr(read, "lineno", 0))
        return any(each is not node and self._is_never_read(each) for each in around)

    def _may_mean_it(self, text: ModuleText, node: _Definition, word: re.Pattern[str]) -> bool:
        if word.search(text.text) is None:
            return False
        module = self._project.module(text.path)
        if module is None:
            return True
        if node not in self._tree.body:
            return any(True for _ in _reading_method(module.tree, node, text.path, self._project))
        has_its_own = any(isinstance(each, _DEFINITIONS) for each in module.bindings.get(node.name, ()))
        if _is_written_in(module.tree, node.name):
            return True
        if has_its_own or node.name not in _read_in(module.tree):
            return False
        reading = _reading(module.tree, node.name, text.path, self._project)
        return any(not isinstance(each, ast.Constant) for each in reading)

    def _may_be_found_by_text(self, node: _Definition) -> bool:
        """Whether this file, or one that imports it, looks names up that are not written down."""
        if node not in self._tree.body:
            return False
        own, names = self._project.library.get(self._project.path), frozenset({node.name})
        read = (self._project.library.get(each.path) for each in looking_names_up(self._importers))
        files = [each for each in (own, *read) if each is not None]
        return own is None or any(finds(each, names, self._project, is_said=False) for each in files)


def _is_called_by_others(node: _Definition) -> bool:
    """Whether it may be registered by a decorator, or is a test: of a class for tests, or a function that asserts."""
    is_test = node.name.lower().startswith("test") and (isinstance(node, ast.ClassDef) or _asserts(node))
    return is_registered(node) or is_test


def _asserts(function: ast.AST) -> bool:
    called = (last_name(each.func).lower() for each in nodes_in(function, ast.Call))
    return bool(nodes_in(function, ast.Assert)) or any("assert" in each or each == "raises" for each in called)


@once_a_node
def _read_in(tree: ast.Module) -> frozenset[str]:
    """The names, attributes and words of texts that a file reads, and what it imports under other names."""
    read = (each for each in inside(tree) if not isinstance(each, ast.Constant))
    return frozenset(word for each in read for word in names_of(each)) | _texts_in(tree)


def _reading(tree: ast.Module, name: str, home: str, project: Project) -> Iterator[ast.AST]:
    """The nodes of the file at `home` that read a name; ``json.load`` is no method `load` of the project."""
    naming = (each for each in inside(tree) if name in names_of(each))
    for each in naming:
        if not (isinstance(each, ast.Attribute) and is_of_library(project, home, tree, each)):
            yield each


def _reading_method(tree: ast.Module, node: _Definition, home: str, project: Project) -> Iterator[ast.AST]:
    """The nodes that may read a method: of an object, by a text, or where the statements of a class name it.

    A variable or an argument of the same name is another thing, and so is what is asked for its truth, or compared
    (``if args.mixup:``). What overrides a method, and asks for that which it overrides, is read by whoever reads the
    name.
    """
    in_classes = {id(each) for each in _read_by_classes(tree)}
    name, tested = node.name, frozenset() if node.decorator_list else _tested_in(tree)
    overriding = {id(each) for each in _read_by_overriding(tree, name)}
    for each in _reading(tree, name, home, project):
        if id(each) in overriding or id(each) in tested:
            continue
        if isinstance(each, ast.Constant):
            if each.value == name or f".{name}" in str(each.value):
                yield each
        elif isinstance(each, ast.Attribute) or id(each) in in_classes:
            yield each


def _read_by_overriding(tree: ast.Module, name: str) -> Iterator[ast.Attribute]:
    """``super().load`` in a method `load` of a class with one base, which nothing else can ask for it."""
    owners = (each for each in nodes_in(tree, ast.ClassDef) if len(each.bases) == 1)
    methods = (each for owner in owners for each in owner.body if getattr(each, "name", "") == name)
    read = (each for method in methods for each in nodes_in(method, ast.Attribute) if each.attr == name)
    return (each for each in read if isinstance(each.value, ast.Call) and last_name(each.value.func) == "super")


@once_a_node
def _tested_in(tree: ast.Module) -> frozenset[int]:
    """The attributes that tests ask for their truth, or compare, by identity: nobody asks that of a method."""
    tests: tuple[ast.If | ast.While | ast.IfExp, ...]
    tests = (*nodes_in(tree, ast.If), *nodes_in(tree, ast.While), *nodes_in(tree, ast.IfExp))
    asked = [part for each in tests for part in asked_in(each.test)]
    compared = [part for each in asked if isinstance(each, ast.Compare) for part in (each.left, *each.comparators)]
    return frozenset(id(each) for each in (*asked, *compared) if isinstance(each, ast.Attribute))


@once_a_node
def _read_by_classes(tree: ast.Module) -> list[ast.AST]:
    """The names that statements of classes read, and decorators there."""
    found: list[ast.AST] = []
    for owner in nodes_in(tree, ast.ClassDef):
        for statement in owner.body:
            defines = isinstance(statement, _DEFINITIONS)
            read = statement.decorator_list if defines else [statement]  # type: ignore[attr-defined]
            found += (name for each in read for name in nodes_in(each, ast.Name))
    return found


@once_a_node
def _texts_in(tree: ast.Module) -> frozenset[str]:
    """The words of the texts of a file."""
    return frozenset(word for each in _texts(tree) for word in names_of(each))


def is_written(tree: ast.Module, name: str) -> bool:
    """Whether a text of a file is a name, or a path that ends with it."""
    texts = (each.value for each in _texts(tree) if isinstance(each.value, str) and each.value.endswith(name))
    return any(each[: -len(name)].endswith(_BEFORE) or each == name for each in texts)


def _is_written_in(tree: ast.Module, name: str) -> bool:
    """Whether a text of a file is a name, or says it as code does; another word of that name means nothing."""
    if name not in _texts_in(tree):
        return False
    return is_written(tree, name) or any(as_code(name).search(str(each.value)) for each in _texts(tree))


@once_a_node
def _texts(tree: ast.Module) -> list[ast.Constant]:
    """The literals of a file; not its documentation, nor what ``__all__`` lists, which are names for importers."""
    left_out = {id(each.value) for each in nodes_in(tree, ast.Expr)}
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AugAssign)) and "__all__" in bound_by(node):
            left_out.update(map(id, nodes_in(node, ast.Constant)))
    return [each for each in nodes_in(tree, ast.Constant) if id(each) not in left_out]


def names_of(node: ast.AST) -> tuple[str, ...]:
    """The names that a node reads by itself, and the words of a text."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        return (node.attr,)
    if isinstance(node, ast.alias) and node.asname is not None:
        return (node.name.rpartition(".")[2],)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return tuple(re.findall(r"[^\W\d]\w*", node.value))
    return ()
